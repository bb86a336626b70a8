package httptoken_test

import (
	"regexp"
	"testing"

	"github.com/goweir/weir/internal/httptoken"
)

func TestToken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, s string
		length  int
		is68    bool
	}{
		{"empty", "", 0, false},
		{"name", "X-Api-Key", 9, true},
		{"all punctuation", "!#$%&'*+-.^_`|~", 15, false},
		{"digits", "0123456789", 10, true},
		{"space within", "X Api", 1, false},
		{"space first", " a", 0, false},
		{"separator within", "for=a", 3, false},
		{"slash within", "a/b", 1, true},
		{"padding", "YTpi==", 4, true},
		{"padding alone", "==", 0, false},
		{"NUL", "a\x00", 1, false},
		{"beyond ASCII", "tökén", 1, false},
		{"beyond ASCII first", "é", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := httptoken.Len(c.s); got != c.length {
				t.Errorf("Len(%q) = %d, want %d", c.s, got, c.length)
			}
			if got, want := httptoken.Is(c.s), c.s != "" && c.length == len(c.s); got != want {
				t.Errorf("Is(%q) = %v, want %v", c.s, got, want)
			}
			if got := httptoken.Is68(c.s); got != c.is68 {
				t.Errorf("Is68(%q) = %v, want %v", c.s, got, c.is68)
			}
		})
	}
}

func FuzzToken(f *testing.F) {
	token := regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]*")
	token68 := regexp.MustCompile(`^[0-9A-Za-z._~+/-]+=*$`)
	for _, s := range []string{"a", "a b", "==", "a=", "a/b", "\n", "a\n", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := httptoken.Len(s), len(token.FindString(s)); got != want {
			t.Errorf("Len(%q) = %d, by the grammar %d", s, got, want)
		}
		if got, want := httptoken.Is68(s), token68.MatchString(s); got != want {
			t.Errorf("Is68(%q) = %v, by the grammar %v", s, got, want)
		}
	})
}
