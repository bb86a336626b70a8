package redisstore

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// Names that are remembered are those that would be put together.
func TestRememberedNames(t *testing.T) {
	t.Parallel()
	s := newStore(t, redistest.Start(t).Client())
	rng := rand.New(rand.NewPCG(1, 12))
	var at place
	texts := []string{"", "a", "a:b", "{}", strings.Repeat("long", 50), "b"}
	remembered := 0
	for range 5000 {
		c := &store.Charge{Scope: texts[rng.IntN(3)], Key: texts[rng.IntN(len(texts))]}
		hash := s.denials.hash(c.Scope, c.Key)
		if rng.IntN(10) == 0 {
			hash = 7 // as of others
		}
		for range rng.IntN(3 * namedAfter) {
			if got, want := at.names.state(s, c, hash), s.stateKey(c.Scope, c.Key); got != want {
				t.Fatalf("%q is named %q, want %q", fmt.Sprint(c.Scope, c.Key), got, want)
			}
		}
		if is := at.names.is.Load(); is != nil && is.key == c.Key && is.scope == c.Scope {
			remembered++
		}
	}
	if remembered < 1000 || remembered > 4500 {
		t.Errorf("%d of 5000 were remembered", remembered)
	}
}

// A key that is remembered stays so while others are asked for by turns.
func TestNamesStay(t *testing.T) {
	t.Parallel()
	s := newStore(t, redistest.Start(t).Client())
	var at place
	ask := func(key string, times int) {
		c := &store.Charge{Key: key}
		for range times {
			at.names.state(s, c, s.denials.hash("", key))
		}
	}
	ask("first", namedAfter+1)
	for range 100 {
		ask("first", 1)
		ask("second", 1)
		ask("third", 1)
	}
	if is := at.names.is.Load(); is == nil || is.key != "first" {
		t.Fatalf("%+v is remembered, want the first", is)
	}
	ask("second", namedAfter+1)
	if is := at.names.is.Load(); is.key != "second" {
		t.Fatalf("%q is remembered, want the second", is.key)
	}
}
