package weir

import (
	"fmt"
	"hash/maphash"
	"sync"
	"testing"
)

// TestRecentKeysAreTheSame: of more credentials than there are places, from many
// goroutines, as often remembered as not.
func TestRecentKeysAreTheSame(t *testing.T) {
	t.Parallel()
	c := newCredentialHash("test\x00", []byte("secret"))
	want := func(i int) (credential, key string) {
		credential = fmt.Sprint("credential ", i)
		return credential, c.sum(credential)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 4 * len(c.recent.places) {
				for range 3 {
					if credential, key := want(i); c.key(credential) != key {
						t.Errorf("%s has another key", credential)
					}
				}
			}
		})
	}
	wg.Wait()
}

func TestCredentialsThatComeOncePushNothingOut(t *testing.T) {
	t.Parallel()
	r := newRecentKeys()
	hashed := 0
	hash := func(credential string) string {
		hashed++
		return "key of " + credential
	}
	for range 5 {
		if key := r.of("a", hash); key != "key of a" {
			t.Error(key)
		}
	}
	if hashed != 2 {
		t.Errorf("hashed %d times, want 2: when it was new, and when it came again", hashed)
	}
	for i := range 20 * len(r.places) {
		r.of(fmt.Sprint("once ", i), hash)
	}
	hashed = 0
	if r.of("a", hash); hashed != 0 {
		t.Error("it was forgotten for others that came once")
	}
	place := func(credential string) uint64 { return maphash.String(r.first, credential) % uint64(len(r.places)) }
	other := ""
	for i := 0; other == "" || place(other) != place("a"); i++ {
		other = fmt.Sprint("twice ", i)
	}
	r.of(other, hash)
	r.of(other, hash)
	hashed = 0
	if r.of(other, hash); hashed != 0 {
		t.Error("one that came again was not remembered in the other's place")
	}
	if key := r.of("a", hash); key != "key of a" || hashed != 1 {
		t.Errorf("after it was pushed out: %q, hashed %d times", key, hashed)
	}
}
