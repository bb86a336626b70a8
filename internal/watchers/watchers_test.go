package watchers

import (
	"testing"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/store"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestSet(t *testing.T) {
	t.Parallel()
	var s Set
	c := &exact.Move{}
	s.Tell("scope", "key", c) // The set is empty.
	told := map[string]int{}
	a := s.Add(func(scope, key string, at store.Clock) {
		if scope != "scope" || key != "key" || at != c {
			t.Errorf("called with %q, %q, %v", scope, key, at)
		}
		told["a"]++
	})
	var b store.Watch
	b = s.Add(func(string, string, store.Clock) {
		told["b"]++
		b.Stop() // A Func may stop its own watch.
	})
	s.Tell("scope", "key", c)
	s.Tell("scope", "key", c)
	if told["a"] != 2 || told["b"] != 1 {
		t.Errorf("calls %v, want a twice and b once", told)
	}
	if !a.Covers(time.Now()) {
		t.Error("a watch that has missed a brake")
	}
	if b.Stop(); s.Empty() {
		t.Error("none is left, want one")
	}
	if a.Stop(); !s.Empty() {
		t.Error("one is left, want none")
	}
	s.Tell("scope", "key", c)
	if told["a"] != 2 {
		t.Error("called after Stop")
	}
}
