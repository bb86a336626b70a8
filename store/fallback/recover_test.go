package fallback_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// nowOnly is a primary that can't book ahead, like Redis without scripts.
type nowOnly struct{ *primary }

func (p nowOnly) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if req.MaxWait > 0 || req.Charges[0].Limit.Algorithm != store.FixedWindow {
		return store.Decision{}, store.ErrUnsupported
	}
	return p.primary.Take(ctx, req)
}

func TestPrimaryThatCantBookAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := nowOnly{newPrimary(t)}
		s := open(t, fallback.Config{Primary: p})
		l := store.Per(20, time.Hour).By(store.FixedWindow)
		admitted := 0
		call := func() {
			if take(t, s, charge("k", 1, l)).Allowed {
				admitted++
			}
		}
		call()
		p.set(errAway, 0)
		for range 10 {
			call()
		}
		time.Sleep(5 * time.Second)
		call()
		synctest.Wait()
		if s.State() != fallback.StateOpen {
			t.Errorf("while it is away the breaker is %v", s.State())
		}
		p.set(nil, 0)
		time.Sleep(2 * time.Second)
		for range 20 {
			call()
			synctest.Wait()
		}
		if admitted != 20 || s.State() != fallback.StateClosed {
			t.Errorf("%d admitted of 20, the breaker is %v", admitted, s.State())
		}
	})
}

// A primary may restart so quickly that the breaker stays closed, and still lose its
// memory.
func TestRestartBetweenTwoCalls(t *testing.T) {
	t.Parallel()
	p := newPrimary(t)
	s := open(t, fallback.Config{Primary: p})
	for range 10 {
		take(t, s, charge("k", 1, store.Per(10, time.Hour)))
	}
	p.set(errBroken, 0)
	take(t, s, charge("other", 1, store.Per(10, time.Hour)))
	p.forget(t)
	p.set(nil, 0)
	if d := take(t, s, charge("k", 1, store.Per(10, time.Hour))); d.Allowed || d.Degraded {
		t.Errorf("a used-up key: %+v", d)
	}
}

// A cancelled local grant is not charged to the primary.
func TestLocalCancelIsNotCharged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPrimary(t)
		s := open(t, fallback.Config{Primary: p})
		req := charge("k", 5, store.Per(10, time.Hour))
		req.Cancelable = true
		cycle(t, p, s, func() {
			if err := s.Cancel(context.Background(), take(t, s, req).Receipt); err != nil {
				t.Error(err)
			}
		})
		if d := take(t, s, charge("k", 10, store.Per(10, time.Hour))); !d.Allowed || d.Degraded {
			t.Errorf("%+v", d)
		}
	})
}

// The breaker closes over a distant primary that answers within the budget.
func TestDistantPrimary(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPrimary(t)
		s := open(t, fallback.Config{Primary: p})
		p.set(errAway, 30*time.Millisecond)
		for range 3 {
			take(t, s, charge("k", 1, store.Per(1000, time.Hour)))
		}
		p.set(nil, 30*time.Millisecond)
		time.Sleep(1100 * time.Millisecond)
		take(t, s, charge("k", 1, store.Per(1000, time.Hour)))
		time.Sleep(time.Second)
		if s.State() != fallback.StateClosed {
			t.Errorf("the breaker is %v", s.State())
		}
	})
}

// OnChange may use the store, and gets changes in order.
func TestOnChangeMayUseTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPrimary(t)
		var s *fallback.Store
		var changes []bool
		s = open(t, fallback.Config{Primary: p, OnChange: func(c fallback.Change) {
			changes = append(changes, c.Err != nil)
			for range 5 {
				take(t, s, charge("k", 1, store.Per(1000, time.Hour)))
			}
			if gone, _ := s.Away(); (c.Err != nil) != (s.State() != fallback.StateClosed) || gone != 0 {
				t.Errorf("change %+v: the breaker is %v, away for %v", c, s.State(), gone)
			}
		}})
		for range 3 {
			cycle(t, p, s, func() {})
		}
		for i, away := range changes {
			if away != (i%2 == 0) {
				t.Errorf("changes: %v", changes)
			}
		}
		if len(changes) != 6 {
			t.Errorf("%d changes, want 6", len(changes))
		}
	})
}
