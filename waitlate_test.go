package weir_test

import (
	"cmp"
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
	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

// answersLate is a store that decides at once and answers later. n counts calls from 0.
type answersLate struct {
	*localstore.Store
	watched  bool
	took     func(n int) time.Duration
	answered func(ctx context.Context) // may be nil

	mu sync.Mutex
	n  int
}

func (s *answersLate) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	d, err := s.Store.Take(ctx, req)
	s.mu.Lock()
	took := s.took(s.n)
	if !req.Peek() {
		s.n++
	}
	s.mu.Unlock()
	time.Sleep(took)
	if s.answered != nil && !req.Peek() {
		s.answered(ctx)
	}
	return d, err
}

func (s *answersLate) WatchBrakes(f func(string, string, store.Clock)) store.Watch {
	if !s.watched {
		return deafWatch{}
	}
	return s.Store.WatchBrakes(f)
}

// left is the departure of a call.
type left struct {
	call  int
	units int64
	after time.Duration
}

// mostIn returns the maximum of units that left in a half-open window.
func mostIn(all []left, window time.Duration) (most int64) {
	slices.SortFunc(all, func(a, b left) int { return cmp.Compare(a.after, b.after) })
	units, from := int64(0), 0
	for _, l := range all {
		units += l.units
		for l.after-all[from].after >= window {
			units -= all[from].units
			from++
		}
		most = max(most, units)
	}
	return most
}

// TestSlowStoreAdmitsNoHerd: a store is slow for 5 s. At no instant do more of 80 waiters
// leave than the limit admits. A call waits for its slot and its answer, and after that
// at most as long as an answer takes.
func TestSlowStoreAdmitsNoHerd(t *testing.T) {
	t.Parallel()
	const slow = 5 * time.Second
	for _, limit := range []weir.Limit{
		weir.PerSecond(10).WithBurst(1), weir.PerSecond(10).WithBurst(5), weir.Outbound(25, 5*time.Second), weir.Outbound(1, 200*ms),
		weir.Per(10, time.Second).By(weir.FixedWindow), weir.Per(10, time.Second).By(weir.SlidingCounter),
	} {
		apart := limit.Period / time.Duration(limit.Rate)
		for name, c := range map[string]struct {
			apart     time.Duration // of the calls
			unwatched bool
			took      func(start time.Time, n int) time.Duration
		}{
			"every answer takes 5 s":            {took: func(time.Time, int) time.Duration { return slow }},
			"every answer takes 5 s, unwatched": {unwatched: true, took: func(time.Time, int) time.Duration { return slow }},
			"all answers come at 5 s":           {apart: apart, took: func(start time.Time, _ int) time.Duration { return slow - time.Since(start) }},
			"answers overtake each other": {apart: apart, took: func(start time.Time, n int) time.Duration {
				return slow - time.Since(start) + time.Duration(n*7919%50)*ms
			}},
			"each third answer takes 5 s": {apart: apart, took: func(_ time.Time, n int) time.Duration { return slow * time.Duration(n%3/2) }},
		} {
			t.Run(fmt.Sprint(limit, " ", limit.Algorithm, " ", limit.Max(), " ", name), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					start := time.Now()
					s := &answersLate{Store: localStore(t), watched: !c.unwatched, took: func(n int) time.Duration { return c.took(start, n) }}
					l := onLocal(t, weir.Config{Name: "api", Store: s, Limits: []weir.Limit{limit}})
					var mu sync.Mutex
					var wg sync.WaitGroup
					var all []left
					for i := range 80 {
						wg.Go(func() {
							if err := l.Wait(t.Context(), "key"); err != nil {
								t.Error(err)
							}
							mu.Lock()
							defer mu.Unlock()
							all = append(all, left{i, 1, time.Since(start)})
						})
						time.Sleep(c.apart)
					}
					wg.Wait()
					checkWindows(t, all, limit, 0)
					if last, most := all[79].after, 80*apart+2*slow+limit.Period; last > most {
						t.Errorf("the last call left after %v, want at most %v", last, most)
					}
					time.Sleep(10 * time.Second)
				})
			})
		}
	}
}

// TestSlowStoreAdmitsNoHerdInFlight is the same for calls with leases. A grant that comes
// after half of a lease is handed back.
func TestSlowStoreAdmitsNoHerdInFlight(t *testing.T) {
	t.Parallel()
	const slow = 5 * time.Second
	for _, limit := range []weir.Limit{weir.PerSecond(10).WithBurst(1), weir.Outbound(25, 5*time.Second)} {
		for name, took := range map[string]func(start time.Time, n int) time.Duration{
			"every answer takes 5 s":       func(time.Time, int) time.Duration { return slow },
			"all answers come at 5 s":      func(start time.Time, _ int) time.Duration { return slow - time.Since(start) },
			"each third answer takes 5 s":  func(_ time.Time, n int) time.Duration { return slow * time.Duration(n%3/2) },
			"each third answer takes 16 s": func(_ time.Time, n int) time.Duration { return 16 * time.Second * time.Duration(n%3/2) },
		} {
			for _, inFlight := range []int64{7, 100} {
				t.Run(fmt.Sprint(limit, " ", inFlight, " ", name), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						start := time.Now()
						s := &answersLate{Store: localStore(t), watched: true, took: func(n int) time.Duration { return took(start, n) }}
						l := onLocal(t, weir.Config{Name: "api", Store: s, Limits: []weir.Limit{limit}, InFlight: inFlight})
						var mu sync.Mutex
						var wg sync.WaitGroup
						var all []left
						for i := range 80 {
							wg.Go(func() {
								lease, err := l.Acquire(t.Context(), "key")
								if err != nil {
									t.Error(err)
								}
								defer lease.Release()
								mu.Lock()
								defer mu.Unlock()
								all = append(all, left{i, 1, time.Since(start)})
							})
							time.Sleep(limit.Period / time.Duration(limit.Rate))
						}
						wg.Wait()
						checkWindows(t, all, limit, 0)
						time.Sleep(time.Minute)
					})
				})
			}
		}
	}
}

// checkWindows checks that no window has more departures than a limit admits. A late
// line catches up by a 64th of the time.
func checkWindows(t *testing.T, all []left, limit weir.Limit, slack time.Duration) {
	t.Helper()
	admits := limit.Rate
	switch limit.Algorithm {
	case weir.GCRA:
		unit := limit.Period / time.Duration(limit.Rate) * 63 / 64
		for n := int64(1); n <= 2*limit.Max(); n++ {
			if time.Duration(n)*unit <= slack {
				continue
			}
			if most := mostIn(all, time.Duration(n)*unit-slack); most > limit.Max()+n-1 {
				t.Errorf("%d units left in the time of %d, want at most %d", most, n, limit.Max()+n-1)
			}
		}
		return
	case weir.FixedWindow, weir.AlignedWindow, weir.SlidingCounter:
		admits *= 2
	}
	if most := mostIn(all, limit.Period*63/64-slack); most > admits {
		t.Errorf("%d units left in %v, want at most %d", most, limit.Period*63/64, admits)
	}
}

// lateCall is one of many calls of one key.
type lateCall struct {
	arrives, cancel, deadline time.Duration // 0: never
	cost                      int64
	answered                  time.Time // zero: never
	left                      time.Duration
	err                       error
}

// TestLateSlotsKeepTheLimits: random calls of a key keep to the limits and to their
// order. The store answers after random times of up to 5 s, and there is a pause now and
// then. No call waits after its slot for longer than the slowest answer took.
func TestLateSlotsKeepTheLimits(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string][]weir.Limit{
		"spaced":          {weir.PerSecond(4).WithBurst(1)},
		"a bucket":        {weir.PerSecond(10).WithBurst(7)},
		"a window":        {weir.Per(10, time.Second).By(weir.SlidingWindow)},
		"two windows":     {weir.Per(10, time.Second).By(weir.SlidingWindow), weir.Per(30, 5*time.Second).By(weir.SlidingWindow)},
		"a fixed window":  {weir.Per(10, time.Second).By(weir.FixedWindow)},
		"window, spacing": {weir.Per(25, 5*time.Second).By(weir.SlidingWindow), weir.Per(3, 300*ms).WithBurst(3)},
	} {
		for seed := range uint64(long.Or(40, 12)) {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { lateStory(t, limits, rand.New(rand.NewPCG(seed, 3))) })
			})
		}
	}
}

func lateStory(t *testing.T, limits []weir.Limit, r *rand.Rand) {
	const longest = 5 * time.Second
	calls := make([]*lateCall, 150)
	span := time.Duration(1+r.IntN(20)) * time.Second
	costs := 1 + r.Int64N(3)
	if limits[0].Max() == 1 {
		costs = 1
	}
	for i := range calls {
		c := &lateCall{arrives: time.Duration(r.Int64N(int64(span))), cost: 1 + r.Int64N(costs)}
		switch r.IntN(8) {
		case 0:
			c.cancel = time.Duration(1 + r.Int64N(int64(span)))
		case 1:
			c.deadline = time.Duration(1 + r.Int64N(int64(span)))
		}
		calls[i] = c
	}
	slices.SortFunc(calls, func(a, b *lateCall) int { return cmp.Compare(a.arrives, b.arrives) })
	pauses, after, paused := r.IntN(3) == 0, time.Duration(r.Int64N(int64(span))), time.Duration(1+r.IntN(3000))*ms
	slowFrom, slowFor, most := r.IntN(100), r.IntN(100), time.Duration(1+r.Int64N(int64(longest)))
	s := &answersLate{Store: localStore(t), watched: r.IntN(2) == 0, took: func(n int) time.Duration {
		if n < slowFrom || n > slowFrom+slowFor || r.IntN(4) == 0 {
			return time.Duration(r.IntN(10)) * ms
		}
		return time.Duration(r.Int64N(int64(most)))
	}}
	s.answered = func(ctx context.Context) {
		if i, ok := ctx.Value(callID{}).(int); ok {
			calls[i].answered = time.Now()
		}
	}
	l := onLocal(t, weir.Config{Name: "api", Store: s, Limits: limits})
	start := time.Now()
	var wg sync.WaitGroup
	for i, c := range calls {
		wg.Go(func() {
			time.Sleep(c.arrives)
			ctx := context.WithValue(t.Context(), callID{}, i)
			if c.cancel > 0 {
				var stop context.CancelFunc
				ctx, stop = context.WithCancel(ctx)
				defer stop()
				defer time.AfterFunc(c.cancel, stop).Stop()
			}
			if c.deadline > 0 {
				var stop context.CancelFunc
				ctx, stop = context.WithTimeout(ctx, c.deadline)
				defer stop()
			}
			c.err = l.WaitN(ctx, "key", c.cost)
			c.left = time.Since(start)
		})
	}
	if pauses {
		time.Sleep(after)
		if err := l.Pause(t.Context(), "key", paused); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	var all []left
	units := int64(0)
	for i, c := range calls {
		switch {
		case c.err == nil:
			all = append(all, left{i, c.cost, c.left})
			units += c.cost
			if c.deadline > 0 && c.left > c.arrives+c.deadline {
				t.Errorf("call %d left after its deadline", i)
			}
		case c.deadline > 0 && (errors.Is(c.err, weir.ErrLimited) || errors.Is(c.err, context.DeadlineExceeded)):
		case c.cancel > 0 && errors.Is(c.err, context.Canceled):
		default:
			t.Errorf("call %d: %v", i, c.err)
		}
		for j, before := range calls[:i] {
			if c.err == nil && before.err == nil && before.cost == c.cost && before.deadline == 0 && c.deadline == 0 &&
				before.left > c.left && before.answered.Before(start.Add(c.left)) {
				t.Errorf("call %d left before call %d, whose answer had come", i, j)
			}
		}
	}
	slack := 50 * ms // Answers that are quicker are not late.
	if !s.watched {
		slack += 50 * ms // A look holds a slot up for as long.
	}
	for _, limit := range limits {
		checkWindows(t, all, limit, slack)
	}
	time.Sleep(time.Minute)
}

// farStore is a store at the end of a network.
type farStore struct {
	*localstore.Store
	way     time.Duration
	back    time.Duration // the same for slots on their way back
	cancels atomic.Int64
}

func (s *farStore) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	time.Sleep(s.way)
	d, err := s.Store.Take(ctx, req)
	time.Sleep(s.way)
	return d, err
}

func (s *farStore) Cancel(ctx context.Context, receipt any) error {
	s.cancels.Add(1)
	time.Sleep(s.back)
	err := s.Store.Cancel(ctx, receipt)
	time.Sleep(s.back)
	return err
}

// TestCallersThatLeave: callers leave after 300 ms and come again, faster than their slots
// could go back to the store. The process uses half of the rate all the same, and a patient
// caller of another process has its turn.
func TestCallersThatLeave(t *testing.T) {
	t.Parallel()
	const rate, seconds = 50, 20
	for _, way := range []time.Duration{0, ms, 5 * ms, 20 * ms} {
		t.Run(way.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &farStore{Store: localStore(t), way: way, back: way}
				var went, decided, calls atomic.Int64
				limiter := func() *weir.Limiter {
					return onLocal(t, weir.Config{Store: s, Limits: []weir.Limit{weir.PerSecond(rate).WithBurst(1)}, Hook: func(_ context.Context, e weir.Event) {
						if e.Kind == weir.EventDecision {
							decided.Add(1)
						}
					}})
				}
				l, other := limiter(), limiter()
				start := time.Now()
				var wg sync.WaitGroup
				for range 60 {
					wg.Go(func() {
						for time.Since(start) < seconds*time.Second {
							ctx, cancel := context.WithCancel(t.Context())
							timer := time.AfterFunc(300*ms, cancel)
							calls.Add(1)
							if l.Wait(ctx, "k") == nil {
								went.Add(1)
							}
							timer.Stop()
							cancel()
						}
					})
				}
				time.Sleep(seconds / 2 * time.Second)
				if err := other.WaitMax(t.Context(), "k", 1, 5*time.Second); err != nil {
					t.Errorf("a patient caller: %v", err)
				}
				wg.Wait()
				time.Sleep(5 * time.Second)
				t.Logf("%d of %d calls went, %d slots went back", went.Load(), calls.Load(), s.cancels.Load())
				if n, most := went.Load(), int64(rate*(seconds+1)); n < most*2/5 || n > most {
					t.Errorf("%d calls went in %d s, want %d to %d", n, seconds, most*2/5, most)
				}
				if n := decided.Load() - 1; n != calls.Load() {
					t.Errorf("%d decisions on %d calls", n, calls.Load())
				}
				nothingLeft(t, l)
			})
		})
	}
}

// TestSlotOnItsWayBackIsPaused: a pause holds for slots on their way back to the store, too,
// whether or not the process hears of it.
func TestSlotOnItsWayBackIsPaused(t *testing.T) {
	t.Parallel()
	for _, hears := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := &farStore{Store: localStore(t), way: ms, back: time.Second}
			l := onLocal(t, weir.Config{Store: s, Limits: []weir.Limit{weir.PerSecond(1).WithBurst(1)}})
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			for range 10 {
				wg.Go(func() { _ = l.Wait(ctx, "k") })
			}
			for range 90 {
				if hears {
					wg.Go(func() { _ = l.Wait(t.Context(), "other") })
				}
			}
			time.Sleep(2100 * ms)
			cancel()
			time.Sleep(ms)
			start := time.Now()
			if err := l.Pause(t.Context(), "k", time.Minute); err != nil {
				t.Fatal(err)
			}
			for i := range 1000 { // Each part of the lines remembers its last brake alone.
				if err := l.Pause(t.Context(), fmt.Sprint(i), time.Second); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.Wait(t.Context(), "k"); err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(start); waited < time.Minute || waited > 61*time.Second {
				t.Errorf("left %v into a pause of a minute, hears of it: %v", waited, hears)
			}
			wg.Wait()
			time.Sleep(time.Minute)
		})
	}
}
