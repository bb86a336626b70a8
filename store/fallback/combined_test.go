package fallback_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// errForbidden is an error of one key.
type errForbidden struct{}

func (errForbidden) Error() string  { return "NOPERM" }
func (errForbidden) OfOneKey() bool { return true }

// choosy is a primary that fails some requests.
type choosy struct {
	*primary
	fail atomic.Pointer[failure]
}

// failure returns the error of a request, if it fails.
type failure func(req *store.Request) error

func (p *choosy) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if f := p.fail.Load(); f != nil {
		if err := (*f)(&req); err != nil {
			return store.Decision{}, err
		}
	}
	return p.primary.Take(ctx, req)
}

// scene is a primary with two processes, and a limit of a key.
type scene struct {
	*testing.T
	p     *choosy
	a, b  *fallback.Store
	limit store.Limit
}

func (s *scene) away() {
	s.p.set(errAway, 0)
	for _, one := range []*fallback.Store{s.a, s.b} {
		take(s, one, charge("another", 1, store.Per(1000, time.Second)))
	}
}

func (s *scene) back() {
	s.p.set(nil, 0)
	time.Sleep(3 * time.Second)
}

func (s *scene) take(by *fallback.Store, cost int64) store.Decision {
	time.Sleep(time.Millisecond)
	return take(s, by, charge("k", cost, s.limit))
}

func (s *scene) lose() {
	time.Sleep(time.Millisecond)
	s.p.forget(s.T)
	time.Sleep(time.Millisecond)
}

func (s *scene) used(key string, want int64) {
	s.Helper()
	if got := 100 - take(s, s.p.store, charge(key, 0, s.limit)).Remaining; got != want {
		s.Errorf("%v: the primary counts %d units of %s, want %d", s.limit.Algorithm, got, key, want)
	}
}

func (s *scene) is(want fallback.State) {
	s.Helper()
	if got := s.a.State(); got != want {
		s.Errorf("%v: the state is %v, want %v", s.limit.Algorithm, got, want)
	}
}

// Faults come together. The primary counts each unit once, whatever the order.
func TestCombinedFaults(t *testing.T) {
	t.Parallel()
	of := func(key string, err error) *failure {
		f := failure(func(req *store.Request) error {
			for _, c := range req.Charges {
				if c.Key == key {
					return err
				}
			}
			return nil
		})
		return &f
	}
	ofRestores := func(err error) *failure {
		f := failure(func(req *store.Request) error {
			if req.Restore == nil {
				return nil
			}
			return err
		})
		return &f
	}
	for name, play := range map[string]func(s *scene){
		"a second fault and a loss": func(s *scene) {
			s.take(s.a, 5)
			s.away()
			s.take(s.a, 5)
			s.p.set(errBroken, 0)
			s.take(s.a, 5)
			s.lose()
			s.back()
			s.used("k", 15)
		},
		"the key of the failed call is forbidden while the primary is probed": func(s *scene) {
			s.take(s.a, 5)
			s.away()
			s.take(s.a, 2)
			s.p.fail.Store(of("k", errForbidden{}))
			s.back()
			s.is(fallback.StateClosed)
			if d := s.take(s.a, 1); !d.Degraded || !d.Allowed {
				s.Errorf("a forbidden key: %+v", d)
			}
			s.p.fail.Store(nil)
			time.Sleep(3 * time.Second)
			s.take(s.a, 1)
			s.used("k", 9)
		},
		"the key of probes is forbidden": func(s *scene) {
			s.away()
			s.p.fail.Store(of("probe", errForbidden{}))
			s.back()
			s.is(fallback.StateClosed)
		},
		"probes panic": func(s *scene) {
			s.take(s.a, 1)
			s.away()
			panics := failure(func(*store.Request) error { panic("of a client") })
			s.p.fail.Store(&panics)
			s.back()
			if s.a.State() == fallback.StateClosed {
				s.Error("closed")
			}
			s.take(s.a, 1)
			s.p.fail.Store(nil)
			s.back()
			s.used("k", 2)
		},
		"each call finds a loss": func(s *scene) {
			s.p.fail.Store(of("k", store.ErrLost))
			for range 2 {
				if d := s.take(s.a, 1); !d.Degraded {
					s.Errorf("a decision: %+v", d)
				}
			}
			s.is(fallback.StateClosed)
			s.p.fail.Store(nil)
			time.Sleep(2 * time.Second)
			s.used("k", 2)
		},
		"reports are forbidden": func(s *scene) {
			s.away()
			s.take(s.a, 1)
			s.p.fail.Store(ofRestores(errForbidden{}))
			s.back()
			s.take(s.a, 1)
			s.p.fail.Store(nil)
			time.Sleep(time.Second)
			s.take(s.a, 1)
			s.used("k", 3)
		},
		"reports are mistakes": func(s *scene) {
			s.take(s.a, 1)
			s.away()
			s.take(s.a, 1)
			s.p.fail.Store(ofRestores(&store.ConfigError{Field: "of a report"}))
			s.back()
			if d := s.take(s.a, 1); d.Degraded {
				s.Errorf("no decision of the primary: %+v", d)
			}
			s.used("k", 2) // The report is dropped.
		},
		"a new process, and an empty primary": func(s *scene) {
			s.take(s.a, 10)
			s.away()
			late := open(s, fallback.Config{Primary: s.p})
			s.take(late, 5)
			s.take(s.a, 5)
			s.lose()
			s.back()
			s.used("k", 20)
		},
		"a new process, and a primary with old data": func(s *scene) {
			old := newPrimary(s).store
			for _, p := range []store.Store{s.a, old} {
				take(s, p, charge("k", 10, s.limit))
			}
			s.take(s.a, 10) // The primary forgets these.
			s.away()
			late := open(s, fallback.Config{Primary: s.p})
			s.take(late, 5)
			s.take(s.a, 5)
			s.p.mu.Lock()
			s.p.store = old
			s.p.mu.Unlock()
			s.back()
			s.used("k", 20)
		},
		"two losses, and two processes": func(s *scene) {
			s.take(s.a, 10)
			s.take(s.b, 10)
			s.lose()
			s.take(s.a, 5)
			s.lose()
			s.take(s.b, 5) // It knows 20, and the other process 15.
			s.take(s.a, 5)
			s.used("k", 30)
		},
		"a slow return, and a loss": func(s *scene) {
			s.take(s.a, 10)
			s.away()
			s.take(s.a, 10)
			s.p.set(nil, 20*time.Millisecond)
			time.Sleep(90 * time.Millisecond)
			s.lose()
			s.back()
			s.take(s.a, 1)
			s.used("k", 21)
		},
		"a loss after the report": func(s *scene) {
			s.take(s.a, 10)
			s.away()
			s.take(s.a, 10)
			s.back()
			s.lose()
			s.take(s.a, 1)
			s.used("k", 21)
		},
		"a reset in the outage": func(s *scene) {
			s.take(s.a, 50)
			s.away()
			s.take(s.a, 20)
			_ = s.a.Reset(context.Background(), "", "k") // The primary does not hear of it.
			s.take(s.a, 100)
			s.back()
			s.used("k", 100)
		},
		"a reset before the report": func(s *scene) {
			s.take(s.a, 50)
			s.away()
			s.take(s.a, 20)
			time.Sleep(20 * time.Millisecond)
			if err := s.p.Reset(context.Background(), "", "k"); err != nil {
				s.Error(err)
			}
			s.back()
			s.take(s.a, 1)
			s.used("k", 1)
		},
		"costs of 0, and one that never fits": func(s *scene) {
			s.away()
			s.take(s.a, 0)
			if d := s.take(s.a, 101); d.Reason != store.ReasonNeverFits {
				s.Errorf("101 of 100: %+v", d)
			}
			s.back()
			s.used("k", 0)
		},
		"a grant of the primary is cancelled after the return": func(s *scene) {
			req := charge("k", 30, s.limit)
			req.Cancelable = true
			d := take(s, s.a, req)
			s.away()
			s.take(s.a, 1)
			s.back()
			if err := s.a.Cancel(context.Background(), d.Receipt); err != nil {
				s.Error(err)
			}
			s.used("k", 1)
		},
		"unlike costs of two limits": func(s *scene) {
			wide := s.limit
			wide.Rate, wide.Burst, wide.Period = 200, 0, 2*wide.Period
			req := charge("k", 5, s.limit, wide)
			req.Charges[1].Cost = 20
			take(s, s.a, req)
			s.away()
			take(s, s.a, req)
			s.lose()
			s.back()
			take(s, s.a, req)
			if left := take(s, s.p.store, charge("k", 0, wide)).Remaining; left != 140 {
				s.Errorf("%v: %d remaining of 200, want 140", s.limit.Algorithm, left)
			}
		},
		"one of two keys costs nothing": func(s *scene) {
			req := charge("k", 5, s.limit)
			req.Charges = append(req.Charges, charge("l", 0, s.limit).Charges...)
			take(s, s.a, req)
			s.away()
			take(s, s.a, req)
			s.lose()
			s.back()
			take(s, s.a, req)
			s.used("k", 15)
			s.used("l", 0)
		},
		"one of two keys is forbidden": func(s *scene) {
			s.p.fail.Store(of("l", errForbidden{}))
			both := store.Request{Charges: append(charge("k", 5, s.limit).Charges, charge("l", 5, s.limit).Charges...)}
			take(s, s.a, both)
			if d := s.take(s.a, 1); d.Degraded {
				s.Errorf("the other key: %+v", d)
			}
			s.used("k", 6)
			s.p.fail.Store(nil)
			take(s, s.a, both)
			s.used("k", 11)
			s.used("l", 10)
		},
		"a lease in two outages, and a loss": func(s *scene) {
			req := charge("k", 0, s.limit)
			hold := func(id string) bool {
				req.Hold = store.Hold{Max: 2, ID: id, Lease: time.Minute}
				return take(s, s.b, req).Allowed
			}
			renew := func() {
				if lost, err := s.b.Renew(context.Background(), "", "k", time.Minute, "1"); err != nil || len(lost) > 0 {
					s.Errorf("lost %v, %v", lost, err)
				}
			}
			s.away()
			if !hold("1") {
				s.Error("no lease in the outage")
			}
			s.back()
			renew()
			s.away()
			renew()
			s.lose()
			s.back()
			renew()
			if !hold("2") || hold("3") {
				s.Error("not two leases at once")
			}
		},
		"a pause in two outages": func(s *scene) {
			s.away()
			if err := s.a.Brake(context.Background(), charge("k", 0, s.limit).Charges, store.Brake{Pause: time.Minute}); err != nil {
				s.Error(err)
			}
			s.back()
			s.away()
			s.back()
			for _, one := range []*fallback.Store{s.a, s.b} {
				if d := s.take(one, 1); d.Allowed || d.Degraded || d.RetryAfter > 55*time.Second {
					s.Errorf("in the pause: %+v", d)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, l := range every(100, 100*24*time.Hour) {
				synctest.Test(t, func(t *testing.T) {
					time.Sleep(24 * time.Hour) // No aligned window ends in the test.
					s := &scene{T: t, p: &choosy{primary: newPrimary(t)}, limit: l}
					for _, one := range []**fallback.Store{&s.a, &s.b} {
						*one = open(t, fallback.Config{Primary: s.p})
						meet(t, *one)
					}
					time.Sleep(time.Second)
					play(s)
					time.Sleep(2 * time.Minute) // Probes end.
				})
			}
		})
	}
}
