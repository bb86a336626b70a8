package weir_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/long"
)

// TestHeartbeat: leases live as long as their calls. One call of the store renews all
// leases of a key, three times in the time of a lease. Without calls in flight there
// are no renewals.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHeldStore(t)
		l := newFlightLimiter(t, s, 10, func(c *weir.Config) { c.Lease = 3 * time.Second })
		a := []*weir.Lease{acquire(t, l, "a"), acquire(t, l, "a"), acquire(t, l, "a")}
		b := acquire(t, l, "b")
		time.Sleep(20500 * ms)
		s.wantHeld(t, "a", 3)
		s.wantHeld(t, "b", 1)
		if n := s.count("renew"); n != 2*20 {
			t.Errorf("%d renewals of two keys in 20.5 s, want 40", n)
		}
		for _, lease := range a {
			lease.Release()
			lease.Release()
		}
		time.Sleep(10 * ms)
		s.wantHeld(t, "a", 0)
		if n := s.count("release"); n != 1 {
			t.Errorf("three leases were released in %d calls, want 1", n)
		}
		b.Release()
		noFlights(t, l)
		before := s.count("renew")
		time.Sleep(time.Minute)
		if n := s.count("renew"); n != before {
			t.Errorf("%d renewals of nothing", n-before)
		}
		// And again.
		b = acquire(t, l, "b")
		time.Sleep(time.Minute)
		s.wantHeld(t, "b", 1)
		b.Release()
		noFlights(t, l)
	})
}

// A lease that its process can't renew in time is lost, and the Hook gets an event. The
// store never counts more than InFlight leases, and nothing is left.
func TestLostLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHeldStore(t)
		var away atomic.Bool
		s.away = func(op string) error {
			if away.Load() && op == "renew" {
				return errors.New("away")
			}
			return nil
		}
		var lost, failed atomic.Int64
		l := newFlightLimiter(t, s, 1, func(c *weir.Config) {
			c.Lease = 3 * time.Second
			c.Hook = func(_ context.Context, e weir.Event) {
				switch e.Kind {
				case weir.EventLeaseLost:
					lost.Add(1)
				case weir.EventStoreCall:
					if e.Err != nil {
						failed.Add(1)
						wantKind(t, e.Err, "store")
					}
				}
			}
		})
		first := acquire(t, l, "k")
		// Heartbeats that fail do no harm while there is time for another.
		away.Store(true)
		time.Sleep(2500 * ms)
		away.Store(false)
		time.Sleep(10 * time.Second)
		if s.wantHeld(t, "k", 1); lost.Load() != 0 || failed.Load() != 6 {
			t.Errorf("%d leases are lost after %d failures, want none after 6", lost.Load(), failed.Load())
		}
		away.Store(true)
		time.Sleep(4 * time.Second)
		away.Store(false)
		s.wantHeld(t, "k", 0)
		// This process learns of it at its next heartbeat.
		second := acquire(t, l, "k")
		if lost.Load() != 1 {
			t.Errorf("%d leases are lost, want 1", lost.Load())
		}
		s.wantHeld(t, "k", 1)
		first.Release()
		time.Sleep(100 * ms)
		if s.wantHeld(t, "k", 1); s.count("release") != 0 {
			t.Error("a lease that was lost was released")
		}
		second.Release()
		noFlights(t, l)
		s.wantHeld(t, "k", 0)
	})
}

// A failed release is tried again, with the next release or the next heartbeat, and
// not for ever.
func TestReleaseFails(t *testing.T) {
	t.Parallel()
	for name, panics := range map[string]bool{"with an error": false, "with a panic": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newHeldStore(t)
				var away atomic.Bool
				s.away = func(op string) error {
					if !away.Load() {
						return nil
					}
					if panics {
						panic("away")
					}
					return errors.New("away")
				}
				l := newFlightLimiter(t, s, 2, func(c *weir.Config) { c.Lease = 3 * time.Second })
				one, two := acquire(t, l, "k"), acquire(t, l, "k")
				away.Store(true)
				one.Release()
				time.Sleep(100 * ms)
				away.Store(false)
				s.wantHeld(t, "k", 2)
				two.Release()
				time.Sleep(100 * ms)
				s.wantHeld(t, "k", 0)
				noFlights(t, l)

				one = acquire(t, l, "k")
				away.Store(true)
				one.Release()
				time.Sleep(500 * ms)
				away.Store(false)
				time.Sleep(600 * ms)
				s.wantHeld(t, "k", 0)
				noFlights(t, l)

				one = acquire(t, l, "k")
				away.Store(true)
				one.Release()
				time.Sleep(6 * time.Second)
				noFlights(t, l)
			})
		})
	}
}

// TestNothingStaysInFlight: calls that fail in any way leave nothing behind: no lease,
// no goroutine, no timer, no unused unit.
func TestNothingStaysInFlight(t *testing.T) {
	t.Parallel()
	calls := long.Or(100_000, 10_000)
	if testing.Short() || long.Race {
		calls = 10_000
	}
	synctest.Test(t, func(t *testing.T) {
		const most = 50
		s := newHeldStore(t)
		errFault, errOwn := errors.New("fault"), errors.New("own")
		var quiet atomic.Bool
		rarely := func(n int, err error) error {
			if quiet.Load() || rand.IntN(n) > 0 {
				return nil
			}
			if rand.IntN(3) == 0 {
				panic(err)
			}
			return err
		}
		s.away = func(string) error { return rarely(40, errFault) }
		s.fault = func(string) error { return rarely(40, errFault) }
		limiters := make([]*weir.Limiter, 3)
		for i := range limiters {
			limiters[i] = newFlightLimiter(t, s, most, func(c *weir.Config) {
				c.Limits = []weir.Limit{weir.PerSecond(20_000), weir.PerMinute(5_000_000).By(weir.SlidingCounter)}
				c.MaxWait, c.MaxWaiters, c.Lease = 100*ms, 2000, 3*time.Second
			})
		}
		var now, peak, ran atomic.Int64
		outcomes := make([]map[string]int, 500)
		var wg sync.WaitGroup
		for w := range outcomes {
			outcomes[w] = map[string]int{}
			wg.Go(func() {
				l, key := limiters[w%len(limiters)], fmt.Sprint("k", w%2)
				for range calls / len(outcomes) {
					ctx, cancel := context.Background(), context.CancelFunc(func() {})
					switch rand.IntN(4) {
					case 0:
						ctx, cancel = context.WithTimeout(ctx, time.Duration(rand.IntN(60))*ms)
					case 1:
						ctx, cancel = context.WithCancel(ctx)
						time.AfterFunc(time.Duration(rand.IntN(60))*ms, cancel)
					}
					err := func() (err error) {
						defer func() {
							if r := recover(); r != nil {
								err = errors.New("panic")
							}
						}()
						return l.Do(ctx, key, func(ctx context.Context) error {
							if w%2 == 0 {
								peak.Store(max(peak.Load(), now.Add(1)))
								defer now.Add(-1)
							}
							ran.Add(1)
							switch rand.IntN(4) {
							case 0:
								return errOwn
							case 1:
								panic("own")
							case 2:
								<-time.After(time.Duration(rand.IntN(10)) * ms)
							}
							return ctx.Err()
						})
					}()
					cancel()
					outcomes[w][kindOf(err)]++
				}
			})
		}
		wg.Wait()
		quiet.Store(true)
		time.Sleep(7 * time.Second) // leases that could not be released end by themselves
		all := map[string]int{}
		for _, o := range outcomes {
			for k, n := range o {
				all[k] += n
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		t.Logf("%d calls, %d ran, at most %d at once, ended as %v; the store was called %v times", calls, ran.Load(), peak.Load(), all, s.calls)
		if peak.Load() > most || peak.Load() < most/2 || len(all) < 6 {
			t.Errorf("%d in flight at once, want up to %d; %v", peak.Load(), most, all)
		}
		for _, l := range limiters {
			noFlights(t, l)
		}
		s.wantHeld(t, "k0", 0)
		s.wantHeld(t, "k1", 0)
	})
}

func kindOf(err error) string {
	switch {
	case err == nil:
		return "done"
	case errors.Is(err, weir.ErrLimited):
		var le *weir.LimitedError
		errors.As(err, &le)
		return le.Reason.String()
	case errors.Is(err, weir.ErrStore):
		return "store"
	}
	return err.Error()
}

// TestSlowHeartbeat: a store that takes longer to renew the leases of many keys
// than the time between two heartbeats loses none.
func TestSlowHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHeldStore(t)
		s.trip = 1500 * ms // Eight at a time, every 4 s.
		l := newFlightLimiter(t, s, 1, func(c *weir.Config) { c.Lease = 12 * time.Second })
		var leases []*weir.Lease
		for i := range 24 {
			leases = append(leases, acquire(t, l, fmt.Sprint(i)))
		}
		time.Sleep(2 * time.Minute)
		for i, lease := range leases {
			s.wantHeld(t, fmt.Sprint(i), 1)
			lease.Release()
		}
		time.Sleep(10 * time.Second)
		noFlights(t, l)
	})
}
