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

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/store/storetest"
)

// primary is a local store that can be away in several ways.
type primary struct {
	mu    sync.Mutex
	store *localstore.Store
	err   error         // what calls fail with
	after time.Duration // how long calls take
	calls atomic.Int64
}

func newPrimary(t testing.TB) *primary {
	t.Helper()
	s, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return &primary{store: s}
}

func (p *primary) set(err error, after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err, p.after = err, after
}

// forget makes it come back without its memory.
func (p *primary) forget(t testing.TB) {
	s := newPrimary(t).store
	p.mu.Lock()
	defer p.mu.Unlock()
	p.store = s
}

func (p *primary) now() (*localstore.Store, error, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.store, p.err, p.after
}

// Take ignores its context, as a client with its own timeouts does.
func (p *primary) Take(_ context.Context, req weir.Request) (weir.Decision, error) {
	p.calls.Add(1)
	s, err, after := p.now()
	time.Sleep(after)
	if err != nil {
		return weir.Decision{}, err
	}
	return s.Take(context.Background(), req)
}

func (p *primary) Cancel(_ context.Context, receipt any) error {
	s, err, after := p.now()
	time.Sleep(after)
	if err != nil {
		return err
	}
	return s.Cancel(context.Background(), receipt)
}

func (p *primary) Reset(_ context.Context, scope, key string) error {
	s, _, _ := p.now()
	return s.Reset(context.Background(), scope, key)
}

func open(t testing.TB, cfg fallback.Config) *fallback.Store {
	t.Helper()
	s, err := fallback.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func charge(key string, cost int64, limits ...weir.Limit) weir.Request {
	var req weir.Request
	for _, l := range limits {
		req.Charges = append(req.Charges, weir.Charge{Key: key, Limit: l, Cost: cost})
	}
	return req
}

func take(t testing.TB, s weir.Store, req weir.Request) weir.Decision {
	t.Helper()
	d, err := s.Take(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func every(rate int64, period time.Duration) []weir.Limit {
	var all []weir.Limit
	for a := weir.GCRA; a <= weir.AlignedWindow; a++ {
		all = append(all, weir.Per(rate, period).By(a))
	}
	return all
}

var errAway = errors.New("connection refused")

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) weir.Store { return open(t, fallback.Config{Primary: newPrimary(t)}) })
}

// Without a primary ever, the local store is what decides.
func TestConformanceAway(t *testing.T) {
	storetest.Run(t, func(t *testing.T) weir.Store {
		p := newPrimary(t)
		p.set(errAway, 0)
		return open(t, fallback.Config{Primary: p})
	})
}

func TestBreaker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPrimary(t)
		var changes []fallback.Change
		s := open(t, fallback.Config{Primary: p, OnChange: func(c fallback.Change) { changes = append(changes, c) }})
		req := charge("k", 1, weir.PerSecond(1000))

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
		// Probes, one each second, whatever the traffic.
		for range 100 {
			time.Sleep(100 * time.Millisecond)
			take(t, s, req)
		}
		synctest.Wait()
		if probes := p.calls.Load() - before; probes < 8 || probes > 10 {
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

// A silent primary costs a call the budget, and the others nothing.
func TestBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPrimary(t)
		s := open(t, fallback.Config{Primary: p})
		p.set(nil, 5*time.Second)
		req := charge("k", 1, weir.PerSecond(1000))
		for i := range 50 {
			start := time.Now()
			d := take(t, s, req)
			took := time.Since(start)
			if want := 50 * time.Millisecond; !d.Degraded || i < 3 && took != want || i >= 3 && took != 0 {
				t.Fatalf("call %d took %v: %+v", i, took, d)
			}
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(10 * time.Second) // The last calls end by themselves.
	})
}

// What is no outage never opens the breaker.
func TestNoOutage(t *testing.T) {
	t.Parallel()
	one := weir.PerHour(1)
	for name, call := range map[string]func(t *testing.T, s *fallback.Store, p *primary){
		"refusals": func(t *testing.T, s *fallback.Store, p *primary) { take(t, s, charge("k", 1, one)) },
		"wrong requests": func(t *testing.T, s *fallback.Store, p *primary) {
			if _, err := s.Take(context.Background(), charge("k", -1, one)); !errors.Is(err, weir.ErrConfig) {
				t.Error(err)
			}
		},
		"what the store can't": func(t *testing.T, s *fallback.Store, p *primary) {
			p.set(fmt.Errorf("cross slot: %w", weir.ErrUnsupported), 0)
			if _, err := s.Take(context.Background(), charge("k", 1, one)); !errors.Is(err, weir.ErrUnsupported) {
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

func TestPolicies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPrimary(t)
		p.set(errAway, 0)
		s := open(t, fallback.Config{Primary: p, Grace: time.Minute, Policies: map[string]fallback.Policy{
			"open": fallback.Open, "closed": fallback.Closed, "grace": fallback.LocalThenClosed,
		}})
		ask := func(scope string) (weir.Decision, error) {
			req := charge("k", 1, weir.PerHour(2))
			req.Charges[0].Scope = scope
			return s.Take(context.Background(), req)
		}
		count := func(scope string) (allowed int, last error) {
			for range 10 {
				d, err := ask(scope)
				if d.Allowed {
					allowed++
				}
				last = err
			}
			return allowed, last
		}
		if n, err := count(""); n != 2 || err != nil {
			t.Errorf("local: %d allowed, %v", n, err)
		}
		if n, err := count("open"); n != 10 || err != nil {
			t.Errorf("open: %d allowed, %v", n, err)
		}
		if n, err := count("closed"); n != 0 || !errors.Is(err, fallback.ErrAway) || !errors.Is(err, errAway) {
			t.Errorf("closed: %d allowed, %v", n, err)
		}
		if n, err := count("grace"); n != 2 || err != nil {
			t.Errorf("within the grace: %d allowed, %v", n, err)
		}
		time.Sleep(2 * time.Minute)
		if n, err := count("grace"); n != 0 || !errors.Is(err, fallback.ErrAway) {
			t.Errorf("after the grace: %d allowed, %v", n, err)
		}
		synctest.Wait()
	})
}

// TestNoSecondBurst takes a key to its limit and the primary away and back,
// with and without its memory: the key never gets more.
func TestNoSecondBurst(t *testing.T) {
	t.Parallel()
	for _, l := range every(20, time.Hour) {
		for _, memory := range []bool{true, false} {
			for _, before := range []int64{0, 10, 20} {
				t.Run(fmt.Sprint(l.Algorithm, " memory ", memory, " used ", before), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						p := newPrimary(t)
						s := open(t, fallback.Config{Primary: p})
						// Aligned windows must not end while the test runs.
						time.Sleep(10 * time.Minute)
						admitted := int64(0)
						call := func() {
							if take(t, s, charge("k", 1, l)).Allowed {
								admitted++
							}
						}
						for range before {
							call()
						}
						for range 3 {
							p.set(errAway, 0)
							for range 8 {
								call()
							}
							if !memory {
								p.forget(t)
							}
							p.set(nil, 0)
							time.Sleep(time.Second + time.Millisecond)
							call() // starts the probe
							synctest.Wait()
							for range 8 {
								call()
							}
							if s.State() != fallback.StateClosed {
								t.Fatalf("the breaker is %v", s.State())
							}
						}
						for range 40 {
							call()
						}
						if admitted != 20 {
							t.Errorf("%d admitted of 20", admitted)
						}
					})
				})
			}
		}
	}
}

// After an outage longer than the window nothing of before counts.
func TestLongOutageLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for _, l := range every(10, time.Second) {
		t.Run(l.Algorithm.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPrimary(t)
				s := open(t, fallback.Config{Primary: p})
				for range 10 {
					take(t, s, charge("k", 1, l))
				}
				p.set(errAway, 0)
				for range 10 {
					take(t, s, charge("k", 1, l))
				}
				time.Sleep(10 * time.Second)
				p.set(nil, 0)
				take(t, s, charge("other", 1, l))
				synctest.Wait()
				for i := range 10 {
					if d := take(t, s, charge("k", 1, l)); !d.Allowed || d.Degraded {
						t.Fatalf("call %d after the outage: %+v", i, d)
					}
				}
				if d := take(t, s, charge("k", 1, l)); d.Allowed {
					t.Errorf("eleventh of ten: %+v", d)
				}
			})
		})
	}
}

// A fleet of four, each with its share, keeps the promise.
func TestShares(t *testing.T) {
	t.Parallel()
	for _, l := range append(every(100, time.Second), weir.PerSecond(10), weir.PerSecond(3).WithBurst(8), weir.Per(2, time.Second).By(weir.FixedWindow)) {
		t.Run(fmt.Sprint(l.Algorithm, " ", l), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const replicas, seconds = 4, 30
				admitted := int64(0)
				for range replicas {
					p := newPrimary(t)
					p.set(errAway, 0)
					s := open(t, fallback.Config{Primary: p, Replicas: replicas, Probe: time.Hour})
					start := time.Now()
					for time.Since(start) < seconds*time.Second {
						if take(t, s, charge("k", 1, l)).Allowed {
							admitted++
						}
						time.Sleep(time.Millisecond)
					}
				}
				promise := seconds*l.Rate + l.Max() + replicas*max(l.Max()/replicas, 1)
				floor := seconds * l.Rate * 9 / 10
				if l.Algorithm == weir.SlidingCounter {
					floor = seconds * l.Rate * 8 / 10
				}
				if admitted > promise || admitted < floor {
					t.Errorf("%d admitted in %d s, want %d to %d", admitted, seconds, floor, promise)
				}
			})
		})
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	p := newPrimary(t)
	for field, cfg := range map[string]fallback.Config{
		"Primary":      {},
		"Budget":       {Primary: p, Budget: -1},
		"Failures":     {Primary: p, Failures: -1},
		"Probe":        {Primary: p, Probe: -1},
		"Replicas":     {Primary: p, Replicas: -1},
		"ReplicasFunc": {Primary: p, Replicas: 2, ReplicasFunc: func() int { return 2 }},
		"Policy":       {Primary: p, Policy: 9},
		"Grace":        {Primary: p, Policy: fallback.LocalThenClosed},
	} {
		t.Run(field, func(t *testing.T) {
			_, err := fallback.New(cfg)
			var ce *weir.ConfigError
			if !errors.As(err, &ce) || ce.Field != "fallback.Config."+field {
				t.Errorf("got %v", err)
			}
		})
	}
}
