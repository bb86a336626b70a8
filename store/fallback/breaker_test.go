package fallback_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

func TestBreaker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPrimary(t)
		var changes []fallback.Change
		s := open(t, fallback.Config{Primary: p, OnChange: func(c fallback.Change) { changes = append(changes, c) }})
		req := charge("k", 1, store.Per(1000, time.Second))

		if d := take(t, s, req); d.Degraded || s.State() != fallback.StateClosed {
			t.Fatalf("with the primary there: %+v, %v", d, s.State())
		}
		p.set(errAway, 0)
		for i := range 3 {
			if d := take(t, s, req); !d.Degraded || !d.Allowed {
				t.Fatalf("failure %d: %+v", i, d)
			}
		}
		before := p.calls.Load()
		for range 100 {
			take(t, s, req)
		}
		if s.State() != fallback.StateOpen || p.calls.Load() != before {
			t.Errorf("after three failures: %v, %d further calls", s.State(), p.calls.Load()-before)
		}
		if away, err := s.Away(); away < 0 || !errors.Is(err, errAway) {
			t.Errorf("away for %v: %v", away, err)
		}
		// Probes, one each 800 ms, whatever the traffic.
		for range 1000 {
			time.Sleep(10 * time.Millisecond)
			take(t, s, req)
		}
		synctest.Wait()
		if probes := p.calls.Load() - before; probes != 12 {
			t.Errorf("%d probes in 10 s", probes)
		}
		p.set(nil, 0)
		time.Sleep(time.Second + time.Millisecond)
		take(t, s, req)
		synctest.Wait()
		if d := take(t, s, req); d.Degraded || s.State() != fallback.StateClosed {
			t.Errorf("after a probe: %+v, %v", d, s.State())
		}
		if len(changes) != 2 || !changes[0].Away || changes[1].Away || !errors.Is(changes[0].Err, errAway) || changes[1].After < 10*time.Second {
			t.Errorf("changes: %+v", changes)
		}
	})
}

// Whenever the primary comes back, and whatever it did before, it is used again
// within one probe interval.
func TestBackWithinOneProbe(t *testing.T) {
	t.Parallel()
	const gap = 5 * time.Millisecond
	for name, away := range map[string]struct {
		err   error
		after time.Duration
	}{"refusing": {errAway, 0}, "silent": {errAway, 5 * time.Second}, "slow to fail": {errAway, 40 * time.Millisecond}} {
		for _, slow := range []time.Duration{0, 40 * time.Millisecond} {
			t.Run(fmt.Sprint(name, ", then answering in ", slow), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p := newPrimary(t)
					s := open(t, fallback.Config{Primary: p})
					req := charge("k", 1, store.Per(1000, time.Second))
					// The outages end at different times after the last probe.
					for outage := 3 * time.Second; outage < 5*time.Second; outage += 17 * time.Millisecond {
						p.set(away.err, away.after)
						for end := time.Now().Add(outage); time.Now().Before(end); time.Sleep(gap) {
							take(t, s, req)
						}
						p.set(nil, slow)
						back := time.Now()
						for take(t, s, req).Degraded {
							time.Sleep(gap)
						}
						if took := time.Since(back); took > time.Second {
							t.Errorf("after an outage of %v it took %v", outage, took)
						}
					}
					time.Sleep(10 * time.Second) // The last calls end by themselves.
				})
			})
		}
	}
}

// A silent primary costs a call the budget, less the tenth that is kept for
// deciding locally, and the others nothing.
func TestBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPrimary(t)
		s := open(t, fallback.Config{Primary: p})
		p.set(nil, 5*time.Second)
		req := charge("k", 1, store.Per(1000, time.Second))
		for i := range 50 {
			start := time.Now()
			d := take(t, s, req)
			took := time.Since(start)
			if want := 45 * time.Millisecond; !d.Degraded || i < 3 && took != want || i >= 3 && took != 0 {
				t.Fatalf("call %d took %v: %+v", i, took, d)
			}
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(10 * time.Second) // The last calls end by themselves.
	})
}

// The first calls of a process wait for the same connections, and so may those that
// come next: when these are slow, both are one failure each, however many they are.
func TestSlowFirstConnection(t *testing.T) {
	t.Parallel()
	for name, silent := range map[string]bool{"which comes": false, "which never comes": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPrimary(t)
				s := open(t, fallback.Config{Primary: p})
				req := charge("k", 1, store.Per(1000, time.Second))
				round := func() (degraded int64) {
					var n atomic.Int64
					var wg sync.WaitGroup
					for range 8 {
						wg.Go(func() {
							if take(t, s, req).Degraded {
								n.Add(1)
							}
						})
					}
					wg.Wait()
					return n.Load()
				}
				p.set(nil, 60*time.Millisecond)
				for range 2 {
					if n := round(); n != 8 || s.State() != fallback.StateClosed {
						t.Fatalf("while it connects %d of 8 were decided locally, then the breaker was %v", n, s.State())
					}
				}
				if !silent {
					p.set(nil, 0)
					if n := round(); n != 0 || s.State() != fallback.StateClosed {
						t.Errorf("when it has connected %d of 8 were decided locally, then the breaker was %v", n, s.State())
					}
				} else if n := round(); n != 8 || s.State() != fallback.StateOpen {
					t.Errorf("the third time %d of 8 were decided locally, then the breaker was %v", n, s.State())
				}
				time.Sleep(time.Second) // The last calls end by themselves.
			})
		})
	}
}

// The first calls of a process that are refused are a failure each.
func TestRefusedFirstConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPrimary(t)
		p.set(errAway, 10*time.Millisecond)
		s := open(t, fallback.Config{Primary: p})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { take(t, s, charge("k", 1, store.Per(1000, time.Second))) })
		}
		if wg.Wait(); s.State() != fallback.StateOpen {
			t.Errorf("the breaker is %v", s.State())
		}
	})
}

// What is no outage never opens the breaker.
func TestNoOutage(t *testing.T) {
	t.Parallel()
	one := store.Per(1, time.Hour)
	for name, call := range map[string]func(t *testing.T, s *fallback.Store, p *primary){
		"refusals": func(t *testing.T, s *fallback.Store, p *primary) { take(t, s, charge("k", 1, one)) },
		"wrong requests": func(t *testing.T, s *fallback.Store, p *primary) {
			if _, err := s.Take(context.Background(), charge("k", -1, one)); !errors.Is(err, store.ErrConfig) {
				t.Error(err)
			}
		},
		"what the store can't": func(t *testing.T, s *fallback.Store, p *primary) {
			p.set(fmt.Errorf("cross slot: %w", store.ErrUnsupported), 0)
			if _, err := s.Take(context.Background(), charge("k", 1, one)); !errors.Is(err, store.ErrUnsupported) {
				t.Error(err)
			}
		},
		"contexts that end": func(t *testing.T, s *fallback.Store, p *primary) {
			p.set(nil, 20*time.Millisecond)
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
			defer cancel()
			if _, err := s.Take(ctx, charge("k", 1, one)); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			time.Sleep(time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPrimary(t)
				s := open(t, fallback.Config{Primary: p, Failures: 1})
				for range 20 {
					call(t, s, p)
				}
				if s.State() != fallback.StateClosed {
					t.Errorf("the breaker is %v", s.State())
				}
			})
		})
	}
}
