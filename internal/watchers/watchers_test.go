package watchers

import (
	"testing"

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
	var b int
	b = s.Add(func(string, string, store.Clock) {
		told["b"]++
		s.Remove(b) // A Func may remove itself.
	})
	s.Tell("scope", "key", c)
	s.Tell("scope", "key", c)
	if told["a"] != 2 || told["b"] != 1 {
		t.Errorf("calls %v, want a twice and b once", told)
	}
	if left := s.Remove(b); left != 1 {
		t.Errorf("%d are left, want 1", left)
	}
	if left := s.Remove(a); left != 0 {
		t.Errorf("%d are left, want none", left)
	}
	s.Tell("scope", "key", c)
	if told["a"] != 2 {
		t.Error("called after Remove")
	}
}
