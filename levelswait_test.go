package weir_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/weirtest"
)

// twoLevels returns levels of a narrow limit of one unit per minute and a wide one
// that has room.
func twoLevels(t *testing.T, store weir.Store, change ...func(narrow, wide *weir.Config)) (narrow, wide *weir.Limiter, levels []weir.Level) {
	t.Helper()
	a := weir.Config{Name: "narrow", Store: store, Limits: []weir.Limit{weir.PerMinute(1)}}
	b := weir.Config{Name: "wide", Store: store, Limits: []weir.Limit{weir.PerSecond(100)}}
	for _, f := range change {
		f(&a, &b)
	}
	narrow, wide = onLocal(t, a), onLocal(t, b)
	return narrow, wide, []weir.Level{{Limiter: narrow, Key: "a"}, {Limiter: wide, Key: "all"}}
}

// TestWaitLevelsHeedsPauses: a call waits for a level while the level is paused. It
// waits on, as a call of Wait beside it does, under any limits of the level.
func TestWaitLevelsHeedsPauses(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string][]weir.Limit{
		"the limiter's limits": nil, "the same again": {weir.PerMinute(1)}, "others": {weir.PerMinute(1), weir.PerHour(60)},
	} {
		for _, heard := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", by the message ", heard), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var store weir.Store = localStore(t)
					if !heard {
						store = newAskedAgain(t, nil)
					}
					narrow, wide, levels := twoLevels(t, store)
					levels[0].Limits = limits
					ctx := t.Context()
					if d, err := weir.AllowLevels(ctx, levels...); err != nil || !d.Allowed {
						t.Fatalf("%+v, %v", d, err)
					}
					start := time.Now()
					var wg sync.WaitGroup
					wg.Go(func() {
						r, d, err := weir.WaitLevels(ctx, time.Hour, levels...)
						if took := time.Since(start); r == nil || err != nil || !d.Allowed || took != 610*time.Second {
							t.Errorf("%+v, %v after %v, want it admitted after 10m10s", d, err, took)
						}
					})
					time.Sleep(10 * time.Second)
					if err := narrow.Pause(ctx, "a", 10*time.Minute); err != nil {
						t.Fatal(err)
					}
					wg.Wait()
					nothingLeft(t, narrow)
					nothingLeft(t, wide)
				})
			})
		}
	}
}

// TestWaitLevelsPausedForLonger than the call may wait: the call is refused at once.
func TestWaitLevelsPausedForLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := new(toldHook)
		narrow, _, levels := twoLevels(t, localStore(t), func(a, _ *weir.Config) { a.Hook = h.Observe })
		ctx := t.Context()
		_, _ = weir.AllowLevels(ctx, levels...)
		time.AfterFunc(10*time.Second, func() { _ = narrow.Pause(ctx, "a", 10*time.Minute) })
		start := time.Now()
		r, d, err := weir.WaitLevels(ctx, 5*time.Minute, levels...)
		if took := time.Since(start); r != nil || err != nil || d.Reason != weir.ReasonPaused || d.RetryAfter != 10*time.Minute || took != 10*time.Second {
			t.Errorf("%+v, %v after %v, want a refusal for the pause", d, err, took)
		}
		waits := h.of(weir.EventWait)
		var limited *weir.LimitedError
		if len(waits) != 1 || !errors.As(waits[0].Err, &limited) || limited.Reason != weir.ReasonPaused || boundOf(limited) != boundMaxWait || limited.Key != "a" || waits[0].Took != 10*time.Second {
			t.Errorf("the hook got %+v, want a wait that ended with a refusal for the pause", waits)
		}
	})
}

// TestCancelAfterWaitLevels: a call that waited for one level after the other gives the units
// of all levels back, once.
func TestCancelAfterWaitLevels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		narrow, wide, levels := twoLevels(t, localStore(t))
		ctx := t.Context()
		left := func() [2]int64 {
			a, errA := narrow.Peek(ctx, "a")
			b, errB := wide.Peek(ctx, "all")
			if err := errors.Join(errA, errB); err != nil {
				t.Error(err)
			}
			return [2]int64{a.Remaining, b.Remaining}
		}
		_, _ = weir.AllowLevels(ctx, levels...)
		r, d, err := weir.WaitLevels(ctx, time.Hour, levels...)
		if err != nil || !d.Allowed || left() != [2]int64{0, 99} {
			t.Fatalf("%+v, %v, %v left", d, err, left())
		}
		for range 2 {
			if err := r.Cancel(ctx); err != nil || left() != [2]int64{1, 100} {
				t.Errorf("%v, %v left, want all", err, left())
			}
		}
	})
}

// TestWaitLevelsInLine: calls of Wait and of WaitLevels with the same key, cost and
// limits form one line. Calls with other limits form another.
func TestWaitLevelsInLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		narrow, _, levels := twoLevels(t, localStore(t))
		ctx := t.Context()
		_, _ = weir.AllowLevels(ctx, levels...)
		n := newLine(narrow)
		waitLevels := func(ctx context.Context, i int, limits ...weir.Limit) {
			at := slices.Clone(levels)
			at[0].Limits = limits
			n.wg.Go(func() {
				_, _, err := weir.WaitLevels(ctx, time.Hour, at...)
				n.mu.Lock()
				n.ended[i] = outcome{time.Since(n.start), err}
				n.mu.Unlock()
			})
			synctest.Wait()
		}
		leaving, cancel := context.WithCancel(ctx)
		n.join(leaving, 0, "a")
		waitLevels(ctx, 1)
		n.join(ctx, 2, "a")
		waitLevels(leaving, 3, weir.PerMinute(1), weir.PerDay(9))
		time.Sleep(time.Second)
		cancel()
		n.wg.Wait()
		n.want(t, 0, time.Second+5*ms, context.Canceled) // Two lines give back together.
		n.want(t, 1, time.Minute, nil)
		n.want(t, 2, 2*time.Minute, nil)
		n.want(t, 3, time.Second+5*ms, context.Canceled)
		nothingLeft(t, narrow)
	})
}

// TestWaitLevelsMaxWaiters: calls count against the bound of the level that they
// wait for.
func TestWaitLevelsMaxWaiters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := new(toldHook)
		store := weirtest.NewStore(localStore(t))
		narrow, _, levels := twoLevels(t, store, func(a, _ *weir.Config) { a.MaxWaiters, a.Hook = 1, h.Observe })
		ctx := t.Context()
		_, _ = weir.AllowLevels(ctx, levels...)
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, d, err := weir.WaitLevels(ctx, time.Hour, levels...); err != nil || !d.Allowed {
				t.Errorf("the first: %+v, %v", d, err)
			}
		})
		synctest.Wait()
		takes, start := store.Counts().Takes, time.Now()
		r, d, err := weir.WaitLevels(ctx, time.Hour, levels...)
		if r != nil || err != nil || d.Reason != weir.ReasonTooManyWaiters || d.Scope != "narrow" || d.Limit != weir.PerMinute(1) || len(d.Charges) != 2 || time.Since(start) != 0 {
			t.Errorf("the second: %+v, %v", d, err)
		}
		if got := store.Counts().Takes - takes; got != 1 {
			t.Errorf("the store was asked %d times, want once: whether it can be had at once", got)
		}
		if told := h.of(weir.EventDecision); told[len(told)-1].Decision.Reason != weir.ReasonTooManyWaiters || len(h.of(weir.EventWait)) > 0 {
			t.Errorf("the hook got %+v", h.told)
		}
		var limited *weir.LimitedError
		if err := narrow.Wait(ctx, "a"); !errors.As(err, &limited) || limited.Reason != weir.ReasonTooManyWaiters {
			t.Errorf("a call of Wait: %v", err)
		}
		wg.Wait()
		nothingLeft(t, narrow)
	})
}

// TestWaitLevelsMaxWaitersOfAWideLevel: the wide level refuses, and the units of the
// narrow level come back.
func TestWaitLevelsMaxWaitersOfAWideLevel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		narrow, wide, levels := twoLevels(t, localStore(t), func(a, b *weir.Config) {
			a.Limits, b.Limits, b.MaxWaiters = []weir.Limit{weir.PerMinute(10)}, []weir.Limit{weir.PerMinute(1)}, 1
		})
		ctx := t.Context()
		_, _ = weir.AllowLevels(ctx, levels...)
		levels[0].Peek = true // Nothing of it is booked, so no call waits for it.
		var wg sync.WaitGroup
		wg.Go(func() { _, _, _ = weir.WaitLevels(ctx, time.Hour, levels...) })
		synctest.Wait()
		levels = slices.Clone(levels)
		levels[0].Peek = false
		r, d, err := weir.WaitLevels(ctx, time.Hour, levels...)
		if r != nil || err != nil || d.Reason != weir.ReasonTooManyWaiters || d.Scope != "wide" || d.Limit != weir.PerMinute(1) || d.Remaining != 0 {
			t.Errorf("%+v, %v, want the wide level's refusal", d, err)
		}
		if d, err := narrow.Peek(ctx, "a"); d.Remaining != 9 || err != nil {
			t.Errorf("%d remain of the narrow level, %v; want 9", d.Remaining, err)
		}
		wg.Wait()
		nothingLeft(t, wide)
	})
}

// slowCancels gives back slowly.
type slowCancels struct{ *weirtest.Store }

func (s slowCancels) Cancel(ctx context.Context, receipt any) error {
	select {
	case <-time.After(time.Hour):
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.Store.Cancel(ctx, receipt)
}

// TestCancelledLevelsReturnInTime, however slow the store is to take back.
func TestCancelledLevelsReturnInTime(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(ctx context.Context, levels ...weir.Level) error{
		"WaitLevels": func(ctx context.Context, levels ...weir.Level) error {
			_, _, err := weir.WaitLevels(ctx, time.Hour, levels...)
			return err
		},
		"WaitLevels, now": func(ctx context.Context, levels ...weir.Level) error {
			levels[0].Key, levels[1].Key = "fresh", "fresh"
			_, _, err := weir.WaitLevels(ctx, 0, levels...)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st, h := slowCancels{weirtest.NewStore(localStore(t))}, new(toldHook)
				_, wide, levels := twoLevels(t, st, func(a, b *weir.Config) {
					a.Limits, b.Limits, a.Hook = []weir.Limit{weir.PerSecond(1)}, []weir.Limit{weir.PerMinute(1)}, h.Observe
				})
				if _, err := weir.AllowLevels(t.Context(), levels...); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(10*time.Second, cancel)
				if name == "WaitLevels, now" { // Its reply comes after the end.
					st.Next(func(ctx context.Context, req store.Request, base weir.Store) (store.Decision, error) {
						d, err := base.Take(ctx, req)
						time.Sleep(11 * time.Second)
						return d, err
					})
				}
				start := time.Now()
				err := call(ctx, levels...)
				if took := time.Since(start); !errors.Is(err, context.Canceled) || took > 11*time.Second+20*ms {
					t.Errorf("ended with %v after %v, want the context's end and 20ms", err, took)
				}
				if waits := h.of(weir.EventWait); name == "WaitLevels" && (len(waits) != 1 || waits[0].Scope != "narrow" || waits[0].Key != "a" || waits[0].Decision.Scope != "wide" ||
					waits[0].Decision.Delay != 59*time.Second || waits[0].Err != context.Canceled) {
					t.Errorf("the hook got %+v, want the end of a wait for the wide level", waits)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				nothingLeft(t, wide)
			})
		})
	}
}

// TestWaitLevelsLeavesNothing: calls wait for levels and end in random ways. No more
// leave than the wide limit admits, and no state of theirs is left. Each wait ends under the
// name and key of its beginning.
func TestWaitLevelsLeavesNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			h := new(toldHook)
			narrow, wide, levels := twoLevels(t, localStore(t), func(a, b *weir.Config) {
				a.Hook, a.MaxWaiters, b.MaxWaiters = h.Observe, 15, 15
				a.Limits, b.Limits = []weir.Limit{weir.PerSecond(3)}, []weir.Limit{weir.Per(5, time.Second).By(weir.SlidingWindow)}
			})
			var wg sync.WaitGroup
			var mu sync.Mutex
			var left []time.Time
			for range 200 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(3000)+1)*ms)
				at := slices.Clone(levels)
				at[0].Key = fmt.Sprint(random.IntN(3))
				if random.IntN(3) == 0 {
					at[0].Limits = []weir.Limit{weir.PerSecond(2)}
				}
				wg.Go(func() {
					defer cancel()
					if r, _, _ := weir.WaitLevels(ctx, time.Hour, at...); r != nil {
						mu.Lock()
						defer mu.Unlock()
						left = append(left, time.Now())
					}
				})
				if random.IntN(5) == 0 {
					time.AfterFunc(time.Duration(random.IntN(500))*ms, cancel)
				}
				switch random.IntN(20) {
				case 0:
					_ = narrow.Pause(t.Context(), at[0].Key, time.Duration(random.IntN(500)+1)*ms)
				case 1:
					_ = wide.Pause(t.Context(), "all", time.Duration(random.IntN(500)+1)*ms)
				case 2:
					_ = narrow.Resume(t.Context(), at[0].Key)
				case 3:
					_ = narrow.Reset(t.Context(), at[0].Key)
				}
				time.Sleep(time.Duration(random.IntN(80)) * ms)
			}
			wg.Wait()
			synctest.Wait()
			nothingLeft(t, narrow)
			nothingLeft(t, wide)
			waiting := map[string]int{}
			for _, e := range h.of(weir.EventWaitBegin) {
				waiting[e.Scope+" "+e.Key]++
			}
			for _, e := range h.of(weir.EventWait) {
				waiting[e.Scope+" "+e.Key]--
			}
			for of, n := range waiting {
				if n != 0 {
					t.Errorf("seed %d: %d calls wait for %s at the end", seed, n, of)
				}
			}
			for i := 5; i < len(left); i++ {
				if in := left[i].Sub(left[i-5]); in < time.Second {
					t.Errorf("seed %d: 6 calls left in %v", seed, in)
				}
			}
			if len(left) < 20 {
				t.Errorf("seed %d: %d calls left, want a few more", seed, len(left))
			}
		})
	}
}

// slowGrants grants everything now, after a time.
type slowGrants struct {
	took    time.Duration
	cancels atomic.Int64
}

func (s *slowGrants) Take(_ context.Context, r store.Request) (store.Decision, error) {
	time.Sleep(s.took)
	return store.Decision{Allowed: true, Limit: r.Charges[0].Limit, Receipt: s}, nil
}

func (s *slowGrants) Cancel(context.Context, any) error {
	s.cancels.Add(1)
	return nil
}

// TestLevelsThatNeverLeftCountNoDeparture: a call of several levels ends while the store
// grants its units. They go back, and the departures of other calls stay counted: the next
// call still keeps its distance to them.
func TestLevelsThatNeverLeftCountNoDeparture(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slowGrants{took: 100 * ms}
		l := newLimiter(t, s, func(c *weir.Config) { c.Limits = []weir.Limit{weir.PerSecond(10).By(weir.SlidingWindow)} })
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { _ = l.Wait(t.Context(), "k") })
		}
		wg.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 50*ms)
		defer cancel()
		if _, _, err := weir.WaitLevels(ctx, time.Hour, weir.Level{Limiter: l, Key: "k", Cost: 10}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want the context's end", err)
		}
		synctest.Wait()
		if n := s.cancels.Load(); n != 1 {
			t.Errorf("%d slots went back, want 1", n)
		}
		s.took = 0
		start := time.Now()
		if err := l.Wait(t.Context(), "k"); err != nil || time.Since(start) < 100*ms {
			t.Errorf("the next call left after %v, %v; want its distance to ten units", time.Since(start), err)
		}
		time.Sleep(2 * time.Second)
	})
}

// lateCancels takes longer to give units back than a call lingers.
type lateCancels struct{ *localstore.Store }

func (s lateCancels) Cancel(ctx context.Context, receipt any) error {
	time.Sleep(100 * ms)
	return s.Store.Cancel(ctx, receipt)
}

// TestWaitLevelsDecidesOnFreeUnits: the wide level refuses a call that has booked the narrow
// one. The decision that follows finds the narrow unit free again, on a slow store too.
func TestWaitLevelsDecidesOnFreeUnits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		local, err := localstore.New(localstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		var wide *weir.Limiter
		_, wide, levels := twoLevels(t, lateCancels{local}, func(a, b *weir.Config) {
			b.Limits = []weir.Limit{weir.Per(1, 4*time.Second)}
			a.Hook = func(ctx context.Context, e weir.Event) {
				if e.Kind == weir.EventWaitBegin { // Another call takes the slot.
					if _, err := wide.Reserve(ctx, "all"); err != nil {
						t.Error(err)
					}
				}
			}
		})
		if _, err := wide.Allow(t.Context(), "all"); err != nil {
			t.Fatal(err)
		}
		r, d, err := weir.WaitLevels(t.Context(), 5*time.Second, levels...)
		if err != nil || r != nil || d.Scope != "wide" || d.Charge(0).Remaining != 1 {
			t.Errorf("%+v, %v; want a refusal by the wide level, and the narrow unit free", d, err)
		}
		time.Sleep(time.Second) // All units are back.
	})
}
