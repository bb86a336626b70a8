package upstream

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestWordIn(t *testing.T) {
	t.Parallel()
	for _, w := range []*word{&wordLimit, &wordRetryAfter} {
		// Names with most of the word at each place, and sometimes all of it.
		rng := rand.New(rand.NewPCG(1, 2))
		found := 0
		for range 20_000 {
			name := []byte(strings.Repeat("x", rng.IntN(7)) + w.text + strings.Repeat("Limit-", rng.IntN(3)))
			for range rng.IntN(3) {
				name[rng.IntN(len(name))] ^= byte(1) << rng.IntN(8)
			}
			if rng.IntN(2) == 0 {
				name = []byte(strings.ToUpper(string(name)))
			}
			name = name[rng.IntN(3):]
			want := strings.Contains(asciiLower(string(name)), w.text)
			if want {
				found++
			}
			if w.in(string(name)) != want {
				t.Fatalf("%q in %q: want %v", w.text, name, want)
			}
		}
		if found < 1000 || found > 19_000 {
			t.Errorf("%q was in %d names, so that this shows little", w.text, found)
		}
		if w.in("") || w.in(w.text[1:]) {
			t.Errorf("%q is in a shorter name", w.text)
		}
	}
}

func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
