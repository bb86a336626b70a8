package fallback_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// Callers with deadlines below the budget do not hide a silent primary from the breaker.
func TestImpatientCallersLetTheBreakerOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPrimary(t)
		s := open(t, fallback.Config{Primary: p})
		take(t, s, charge("k", 1, store.Per(10, time.Second))) // See TestSlowFirstConnection.
		p.set(nil, 5*time.Second)
		for range 8 {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			start := time.Now()
			if _, err := s.Take(ctx, charge("k", 1, store.Per(10, time.Second))); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			if took := time.Since(start); took != 20*time.Millisecond {
				t.Errorf("left after %v", took)
			}
			cancel()
		}
		time.Sleep(50 * time.Millisecond)
		if s.State() != fallback.StateOpen {
			t.Errorf("the breaker is %v", s.State())
		}
		p.set(nil, 0)
		time.Sleep(10 * time.Second)
	})
}

// A grant of the primary is given back if its caller has gone on.
func TestLateGrantsAreGivenBack(t *testing.T) {
	t.Parallel()
	for name, patience := range map[string]time.Duration{"the caller left": 10 * time.Millisecond, "the budget is over": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPrimary(t)
				s := open(t, fallback.Config{Primary: p})
				meet(t, s)
				p.set(nil, 1200*time.Millisecond)
				req := charge("k", 1, store.Per(10, time.Hour))
				req.Cancelable, req.MaxWait = true, time.Hour
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				d, err := s.Take(ctx, req)
				if patience == time.Hour && (err != nil || !d.Degraded) {
					t.Errorf("%+v, %v", d, err)
				}
				p.set(nil, 0)
				time.Sleep(4 * time.Second)
				synctest.Wait()
				want := int64(10)
				if patience == time.Hour {
					want = 9 // The local decision is restored.
				}
				if left := take(t, p.store, charge("k", 0, store.Per(10, time.Hour))).Remaining; left != want {
					t.Errorf("%d remaining of 10", left)
				}
			})
		})
	}
}

// A primary that panics fails a call, not the program.
func TestPanickingPrimary(t *testing.T) {
	t.Parallel()
	s := open(t, fallback.Config{Primary: storeFunc(func(store.Request) (store.Decision, error) { panic("boom") })})
	for range 10 {
		if d := take(t, s, charge("k", 1, store.Per(100, time.Hour))); !d.Allowed || !d.Degraded {
			t.Errorf("%+v", d)
		}
	}
	if s.State() != fallback.StateOpen {
		t.Errorf("the breaker is %v", s.State())
	}
}

type storeFunc func(req store.Request) (store.Decision, error)

func (f storeFunc) Take(_ context.Context, req store.Request) (store.Decision, error) { return f(req) }

type foreign struct{}

func (foreign) Error() string  { return "the key holds something else" }
func (foreign) OfOneKey() bool { return true }

// A foreign value under one key affects that key alone.
func TestForeignKey(t *testing.T) {
	t.Parallel()
	p := newPrimary(t)
	s := open(t, fallback.Config{
		Policies: map[string]fallback.Policy{"closed": fallback.Closed},
		Primary: storeFunc(func(req store.Request) (store.Decision, error) {
			if req.Charges[0].Key == "foreign" {
				return store.Decision{}, foreign{}
			}
			return p.Take(context.Background(), req)
		}),
	})
	admitted := 0
	for range 20 {
		d := take(t, s, charge("foreign", 1, store.Per(5, time.Hour)))
		if d.Allowed {
			admitted++
		}
		if !d.Degraded {
			t.Errorf("decided by the primary: %+v", d)
		}
		if d := take(t, s, charge("other", 1, store.Per(100, time.Hour))); d.Degraded {
			t.Errorf("another key: %+v", d)
		}
	}
	req := charge("foreign", 1, store.Per(5, time.Hour))
	req.Charges[0].Scope = "closed"
	if _, err := s.Take(context.Background(), req); !errors.Is(err, foreign{}) {
		t.Errorf("under closed: %v", err)
	}
	if admitted != 5 || s.State() != fallback.StateClosed {
		t.Errorf("%d admitted of 5, the breaker is %v", admitted, s.State())
	}
}

// The breaker stays open while the keys that opened it still fail, as under a cluster's
// dead master.
func TestProbeLooksAtWhatFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPrimary(t)
		var dead atomic.Bool
		dead.Store(true)
		changes := 0
		s := open(t, fallback.Config{
			OnChange: func(fallback.Change) { changes++ },
			Primary: storeFunc(func(req store.Request) (store.Decision, error) {
				if dead.Load() && req.Charges[0].Key == "dead" {
					return store.Decision{}, errAway
				}
				return p.Take(context.Background(), req)
			}),
		})
		for range 100 {
			take(t, s, charge("dead", 1, store.Per(10, time.Second)))
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
		}
		if changes != 1 || s.State() == fallback.StateClosed {
			t.Errorf("%d changes, the breaker is %v", changes, s.State())
		}
		dead.Store(false)
		time.Sleep(2 * time.Second)
		take(t, s, charge("dead", 1, store.Per(10, time.Second)))
		synctest.Wait()
		if s.State() != fallback.StateClosed {
			t.Errorf("afterwards the breaker is %v", s.State())
		}
	})
}

// full is a primary that can't write some keys, like a cluster with one master out of memory.
type full struct {
	*primary
	reads atomic.Bool // it only reads these keys
}

func (f *full) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if c := &req.Charges[0]; f.reads.Load() && c.Key == "full" && (c.Cost > 0 || len(req.Restore) > 0) {
		return store.Decision{}, errAway
	}
	return f.primary.Take(ctx, req)
}

// The breaker stays open while the primary can only read the keys that opened it.
func TestProbeWritesWhatFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		changes := 0
		f := &full{primary: newPrimary(t)}
		s := open(t, fallback.Config{OnChange: func(fallback.Change) { changes++ }, Primary: f})
		f.reads.Store(true)
		for range 100 {
			take(t, s, charge("full", 1, store.Per(10, time.Second)))
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
		}
		if changes != 1 || s.State() == fallback.StateClosed {
			t.Errorf("%d changes, the breaker is %v", changes, s.State())
		}
		f.reads.Store(false)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if s.State() != fallback.StateClosed {
			t.Errorf("afterwards the breaker is %v", s.State())
		}
	})
}
