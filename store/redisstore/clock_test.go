package redisstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// TestClockStepsBack: after a failover or a correction the server's clock may be behind the
// stored state. Then no call waits longer than its limits and the bookings ahead require.
// No window admits more.
func TestClockStepsBack(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	sets := map[string][]store.Limit{
		"three limits":  {store.Per(5, time.Second), store.Per(20, time.Minute).By(store.SlidingWindow), store.Per(12, 10*time.Second).By(store.FixedWindow)},
		"two windows":   {store.Per(5, time.Second).By(store.SlidingWindow), store.Per(8, 3*time.Second).By(store.SlidingWindow)},
		"two of a kind": {store.Per(5, time.Second).By(store.AlignedWindow), store.Per(8, 3*time.Second).By(store.SlidingCounter)},
		"a burst":       {store.Per(5, time.Second).WithBurst(50)},
	}
	for _, l := range every(5, time.Second) {
		sets[l.Algorithm.String()] = []store.Limit{l}
	}
	for name, limits := range sets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			longest := time.Duration(0)
			for _, l := range limits {
				longest = max(longest, 2*l.Period, time.Duration(l.Max())*l.Period/time.Duration(l.Rate)+l.Period)
			}
			for i, back := range []time.Duration{time.Microsecond, time.Millisecond, 700 * time.Millisecond, time.Hour, 20 * 365 * 24 * time.Hour} {
				for _, wait := range []time.Duration{0, 10 * time.Second} {
					for _, cancelable := range []bool{false, true} {
						s, sleep := newStill(t, client, fmt.Sprint(name[:3], len(name), i, wait, cancelable, ":"))
						sleep(25 * 365 * 24 * time.Hour)
						var last time.Duration
						for range 60 {
							req := charge("key", 1, limits...)
							req.MaxWait, req.Cancelable = wait, cancelable
							if d := take(t, s, req); d.Allowed {
								last = d.Delay
							}
						}
						sleep(-back)
						if d := take(t, s, charge("key", 1, limits...)); !d.Allowed && d.RetryAfter > longest+last {
							t.Errorf("%v back, waiting %v: %+v", back, wait, d)
						}
						waited := time.Duration(0)
						for range 1000 {
							d := take(t, s, charge("key", 1, limits...))
							if d.Allowed {
								break
							}
							waited += d.RetryAfter
							sleep(d.RetryAfter)
						}
						if waited > longest+last {
							t.Errorf("%v back, bookings up to %v ahead: a call waits %v", back, last, waited)
						}
					}
				}
			}
		})
	}
}

// TestClockStepsBackAndForth tells random stories in which the clock steps back. No state
// is damaged. No call waits longer than the periods, the bookings ahead and the pauses
// require.
func TestClockStepsBackAndForth(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	for seed := range uint64(long.Of(120)) {
		rng := rand.New(rand.NewPCG(seed, 21))
		s, sleep := newStill(t, client, fmt.Sprint("seed", seed, ":"))
		sleep(25 * 365 * 24 * time.Hour)
		limits := randomLimits(rng, seed%2 == 0)
		longest := time.Duration(0)
		for i := range limits {
			limits[i].Rate = min(limits[i].Rate, 12)
			l := limits[i]
			longest = max(longest, 2*l.Period, time.Duration(l.Max())*l.Period/time.Duration(l.Rate)+l.Period)
		}
		var ahead time.Duration
		for step := range 60 {
			switch rng.IntN(6) {
			case 0:
				sleep(-time.Duration(rng.Int64N([]int64{1e6, 1e10, 1e15, 3e16}[rng.IntN(4)])))
			case 1:
				d := time.Duration(rng.Int64N(int64(longest))).Truncate(time.Microsecond)
				sleep(d)
				ahead = max(ahead-d, 0)
			case 2:
				if err := s.Brake(context.Background(), charge("key", 0, limits...).Charges, store.Brake{Pause: time.Second}); err != nil {
					t.Fatal(err)
				}
				ahead += time.Second
			default:
				req := charge("key", 1+rng.Int64N(3), limits...)
				req.MaxWait, req.Cancelable = time.Duration(rng.IntN(3))*time.Second, rng.IntN(2) == 0
				d, err := s.Take(context.Background(), req)
				if err != nil {
					t.Fatalf("seed %d, step %d, %v: %v", seed, step, limits, err)
				}
				if d.Allowed {
					ahead = max(ahead, d.Delay)
				} else if most := 2*longest + ahead; d.RetryAfter > most {
					t.Fatalf("seed %d, step %d, %v: %+v, want at most %v", seed, step, limits, d, most)
				}
				if d.Receipt != nil && rng.IntN(3) == 0 {
					if err := s.Cancel(context.Background(), d.Receipt); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
}

// TestPauseOutlivesAStepBack: a pause, a lower rate and an advertised pace last as long as
// asked for, though the server's clock steps back meanwhile.
func TestPauseOutlivesAStepBack(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	limit := store.Per(10, time.Second)
	for name, brake := range map[string]store.Brake{
		"pause":   {Pause: 10 * time.Second},
		"lower":   {Cut: store.Cut{Unit: 100 * time.Millisecond, Recovery: 20 * time.Second}},
		"spacing": {Tell: true, Gap: 5 * time.Second, GapFor: 20 * time.Second},
	} {
		for i, back := range []time.Duration{time.Microsecond, time.Second, time.Hour, 20 * 365 * 24 * time.Hour} {
			s, sleep := newStill(t, client, fmt.Sprint(name, i, ":"))
			model, sleepToo := newStill(t, client, fmt.Sprint(name, i, "model:"))
			sleep(25 * 365 * 24 * time.Hour)
			for _, s := range []*Store{s, model} {
				if err := s.Brake(t.Context(), charge("key", 0, limit).Charges, brake); err != nil {
					t.Fatal(err)
				}
			}
			sleep(-back)
			for range 30 {
				got, want := take(t, s, charge("key", 1, limit)), take(t, model, charge("key", 1, limit))
				if got.Allowed != want.Allowed || got.RetryAfter != want.RetryAfter || got.Gap != want.Gap || got.Reason != want.Reason {
					t.Fatalf("%s, %v back: %+v, want %+v", name, back, got, want)
				}
				sleep(want.RetryAfter/2 + 100*time.Millisecond)
				sleepToo(want.RetryAfter/2 + 100*time.Millisecond)
			}
		}
	}
}

// TestClockThatStepsBackAdmitsNoMore: only the time between the steps frees units.
func TestClockThatStepsBackAdmitsNoMore(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	for seed := range uint64(long.Of(120)) {
		rng := rand.New(rand.NewPCG(seed, 22))
		s, sleep := newStill(t, client, fmt.Sprint("seed", seed, ":"))
		sleep(25 * 365 * 24 * time.Hour)
		limit := store.Per(2+rng.Int64N(9), time.Second).By(store.Algorithm(seed % 2))
		var passed int64
		var admitted []int64
		for range 150 {
			switch rng.IntN(5) {
			case 0:
				sleep(-time.Duration(rng.Int64N([]int64{1e6, 1e9, 1e16, 1e17}[rng.IntN(4)])))
			case 1:
				d := time.Duration(rng.Int64N(3e8)).Truncate(time.Microsecond)
				sleep(d)
				passed += d.Microseconds()
			default:
				req := charge("key", 1, limit)
				req.Cancelable = seed%3 == 0
				if take(t, s, req).Allowed {
					admitted = append(admitted, passed)
				}
			}
		}
		if limit.Algorithm == store.SlidingWindow {
			if n := worstWindow(admitted, limit.Period.Microseconds()); n > limit.Rate {
				t.Errorf("seed %d, %v: a window holds %d", seed, limit, n)
			}
		} else if i := exceeds(admitted, limit); i >= 0 {
			t.Errorf("seed %d, %v: admission %d of %d came too early", seed, limit, i, len(admitted))
		}
	}
}

// TestCallsOfOneInstant: when a coarse clock gives calls the same instant, no call gives
// back the units of another.
func TestCallsOfOneInstant(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	for _, l := range every(10, time.Hour) {
		for name, between := range map[string]func(t *testing.T, s *Store){
			"nothing": func(*testing.T, *Store) {},
			"a reset": func(t *testing.T, s *Store) {
				if err := s.Reset(t.Context(), "", "key"); err != nil {
					t.Fatal(err)
				}
			},
			"an expiry": func(t *testing.T, s *Store) {
				state, log := namesOf(s, "key")
				if err := client.Del(t.Context(), state, log).Err(); err != nil {
					t.Fatal(err)
				}
			},
			"a reset by another process": func(t *testing.T, s *Store) {
				other, err := New(Config{Client: s.client, Prefix: s.prefix, now: s.now})
				if err != nil {
					t.Fatal(err)
				}
				if err := other.Reset(t.Context(), "", "key"); err != nil {
					t.Fatal(err)
				}
				reserve(t, other, "key", 2, 0, l)
				if err := other.Reset(t.Context(), "", "key"); err != nil {
					t.Fatal(err)
				}
			},
		} {
			t.Run(fmt.Sprint(l.Algorithm, ", ", name), func(t *testing.T) {
				t.Parallel()
				s, _ := newStill(t, client, fmt.Sprint(l.Algorithm, name, ":"))
				left := int64(10)
				old := reserve(t, s, "key", 4, 0, l)
				if between(t, s); name == "nothing" {
					left -= 4
				}
				own := reserve(t, s, "key", 3, 0, l)
				reserve(t, s, "key", 1, 0, l)
				left -= 4
				if name != "nothing" {
					settleAt(t, s, old, 9)
					settleAt(t, s, old, 0)
				}
				if d := reserve(t, s, "key", 0, 0, l); d.Remaining != left {
					t.Errorf("%d remain of %d after the booking from before is cancelled", d.Remaining, left)
				}
				settleAt(t, s, own, 0)
				if d := reserve(t, s, "key", 0, 0, l); d.Remaining != left+3 {
					t.Errorf("%d remain, want %d", d.Remaining, left+3)
				}
			})
		}
	}
}

// TestReservationsInAWholeMicrosecondDoNotAddUp: the rounding of slots does not add up.
func TestReservationsInAWholeMicrosecondDoNotAddUp(t *testing.T) {
	t.Parallel()
	_, c := miniClient(t)
	s, _ := newStill(t, c, "")
	l := store.Per(100_000_000, time.Second).WithBurst(1)
	for i := range int64(1000) {
		req := charge("key", 1, l)
		req.MaxWait = time.Second
		d := take(t, s, req)
		if want := time.Duration(i*10+999) / time.Microsecond * time.Microsecond; d.Delay != want {
			t.Fatalf("slot %d: delay %v, want %v", i, d.Delay, want)
		}
	}
}
