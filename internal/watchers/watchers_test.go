package watchers

import (
	"testing"
	"time"

	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/store"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestSet(t *testing.T) {
	t.Parallel()
	var s Set
	s.Tell("scope", "key", clock(1)) // Nobody.
	told := map[string]int{}
	a := s.Add(func(scope, key string, c store.Clock) {
		if scope != "scope" || key != "key" || c != clock(7) {
			t.Errorf("told of %q, %q, %v", scope, key, c)
		}
		told["a"]++
	})
	var b int
	b = s.Add(func(string, string, store.Clock) {
		told["b"]++
		s.Remove(b) // Whoever is told may go.
	})
	s.Tell("scope", "key", clock(7))
	s.Tell("scope", "key", clock(7))
	if told["a"] != 2 || told["b"] != 1 {
		t.Errorf("told %v, want a twice and b once", told)
	}
	if left := s.Remove(b); left != 1 {
		t.Errorf("%d are left, want 1", left)
	}
	if left := s.Remove(a); left != 0 {
		t.Errorf("%d are left, want none", left)
	}
	s.Tell("scope", "key", clock(9))
	if told["a"] != 2 {
		t.Error("told after Remove")
	}
}

// clock is a number that stands for one.
type clock int

func (clock) Real(slot store.Instant) store.Instant  { return slot }
func (clock) Counts(any, store.Instant) bool         { return true }
func (clock) Set() store.Instant                     { return 0 }
func (clock) Gap(store.Instant) (none time.Duration) { return 0 }
