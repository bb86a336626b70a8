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

	"github.com/goweir/weir/internal/long"
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
		if d := take(t, s, req); !d.Degraded || !d.Allowed {
			t.Fatalf("refused: %+v", d)
		}
		before := p.calls.Load()
		for range 100 {
			take(t, s, req)
		}
		if s.State() != fallback.StateOpen || p.calls.Load() != before {
			t.Errorf("after a refused connection: %v, %d further calls", s.State(), p.calls.Load()-before)
		}
		if away, err := s.Away(); away < 0 || !errors.Is(err, errAway) {
			t.Errorf("away for %v: %v", away, err)
		}
		// Probes of a primary that refuses connections come after up to 0.1, 0.2, 0.25,
		// 0.25, … s, of another after up to 0.1, 0.2, 0.4, 0.8, 1.6, 2, 2, … s, whatever the
		// traffic.
		for _, away := range []struct {
			err          error
			fewest, most int64
		}{{errAway, 40, 82}, {errors.New("no answer"), 5, 14}} {
			p.set(away.err, 0)
			before := p.calls.Load()
			for range 1000 {
				time.Sleep(10 * time.Millisecond)
				take(t, s, req)
			}
			synctest.Wait()
			if probes := p.calls.Load() - before; probes < away.fewest || probes > away.most {
				t.Errorf("%v: %d probes in 10 s", away.err, probes)
			}
		}
		p.set(nil, 0)
		time.Sleep(2*time.Second + time.Millisecond)
		synctest.Wait()
		if d := take(t, s, req); d.Degraded || s.State() != fallback.StateClosed {
			t.Errorf("after a probe: %+v, %v", d, s.State())
		}
		if len(changes) != 2 || changes[1].Err != nil || !errors.Is(changes[0].Err, errAway) || changes[1].After < 20*time.Second {
			t.Errorf("changes: %+v", changes)
		}
	})
}

// The primary decides again within one probe interval of its return, after any kind of
// outage.
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
					for outage := 3 * time.Second; outage < 5*time.Second; outage += long.Or(17*time.Millisecond, 53*time.Millisecond) {
						p.set(away.err, away.after)
						for end := time.Now().Add(outage); time.Now().Before(end); time.Sleep(gap) {
							take(t, s, req)
						}
						p.set(nil, slow)
						back := time.Now()
						for take(t, s, req).Degraded {
							time.Sleep(gap)
						}
						if took := time.Since(back); took > 2200*time.Millisecond {
							t.Errorf("after an outage of %v it took %v", outage, took)
						}
					}
					time.Sleep(10 * time.Second) // The last calls end by themselves.
				})
			})
		}
	}
}

// A silent primary costs one call the budget, less the tenth for the local decision. It
// costs the others nothing.
func TestBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPrimary(t)
		s := open(t, fallback.Config{Primary: p})
		meet(t, s)
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
		p.set(nil, 0)
		time.Sleep(10 * time.Second) // The last calls end by themselves.
	})
}

// The first calls of a process wait longer than the budget, for connections. If none
// comes, the breaker opens after one round.
func TestSlowFirstConnection(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		after    time.Duration
		degraded int64
		state    fallback.State
	}{
		"which comes":       {200 * time.Millisecond, 0, fallback.StateClosed},
		"which never comes": {5 * time.Second, 8, fallback.StateOpen},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPrimary(t)
				s := open(t, fallback.Config{Primary: p})
				p.set(nil, test.after)
				var n atomic.Int64
				var wg sync.WaitGroup
				for range 8 {
					wg.Go(func() {
						if take(t, s, charge("k", 1, store.Per(1000, time.Second))).Degraded {
							n.Add(1)
						}
					})
				}
				if wg.Wait(); n.Load() != test.degraded || s.State() != test.state {
					t.Errorf("%d of 8 were decided locally, then the breaker was %v", n.Load(), s.State())
				}
				p.set(nil, 0)
				time.Sleep(10 * time.Second) // The last calls end by themselves.
			})
		})
	}
}

// The breaker opens after three failed rounds in a row, and 100 ms without a success.
// Calls that began before a failure ended belong to its round.
func TestRounds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		took  time.Duration // by a call
		gap   time.Duration // between the calls of one caller
		every int           // every n-th call succeeds; 0: none
		open  time.Duration // when the breaker opens; 0: never
	}{
		"silent":                    {took: 45 * time.Millisecond, gap: time.Millisecond, open: 137 * time.Millisecond},
		"fails at once":             {gap: time.Millisecond, open: 100 * time.Millisecond},
		"fails at once, seldom":     {gap: 80 * time.Millisecond, open: 160 * time.Millisecond},
		"one of three succeeds":     {gap: time.Millisecond, every: 3},
		"one of a hundred succeeds": {gap: time.Millisecond, every: 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPrimary(t)
				s := open(t, fallback.Config{Primary: p})
				meet(t, s)
				start, opened := time.Now(), time.Duration(0)
				for i := 1; time.Since(start) < time.Second && opened == 0; i++ {
					if p.set(errBroken, test.took); test.every > 0 && i%test.every == 0 {
						p.set(nil, 0)
					}
					var wg sync.WaitGroup
					for range 16 {
						wg.Go(func() { take(t, s, charge("k", 1, store.Per(1000, time.Second))) })
					}
					if wg.Wait(); s.State() != fallback.StateClosed {
						opened = time.Since(start)
					}
					time.Sleep(test.gap)
				}
				if opened != test.open {
					t.Errorf("open after %v, want %v", opened, test.open)
				}
				p.set(nil, 0)
				time.Sleep(3 * time.Second)
			})
		})
	}
}

// A pause of the primary of 60 ms opens no breaker, however many calls come meanwhile.
func TestShortPause(t *testing.T) {
	t.Parallel()
	for _, callers := range []int{1, 8, 64, 256} {
		synctest.Test(t, func(t *testing.T) {
			p := newPrimary(t)
			opened := 0
			s := open(t, fallback.Config{Primary: p, OnChange: func(fallback.Change) { opened++ }})
			meet(t, s)
			for range long.Or(20, 4) {
				p.set(nil, 60*time.Millisecond)
				end := time.Now().Add(60 * time.Millisecond)
				var wg sync.WaitGroup
				for range callers {
					wg.Go(func() {
						for time.Now().Before(end.Add(200 * time.Millisecond)) {
							p.set(nil, max(time.Until(end), 0))
							take(t, s, charge("k", 1, store.Per(1000, time.Second)))
							time.Sleep(5 * time.Millisecond)
						}
					})
				}
				wg.Wait()
			}
			if opened != 0 {
				t.Errorf("%d callers: %d changes", callers, opened)
			}
		})
	}
}

// An error that is no outage never opens the breaker.
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
		"unsupported by the store": func(t *testing.T, s *fallback.Store, p *primary) {
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
				s := open(t, fallback.Config{Primary: p})
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
