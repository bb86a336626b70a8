package weir_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

// answersLate decides at once, and answers after a time. The n-th question counts from 0.
type answersLate struct {
	*localstore.Store
	watched bool
	took    func(n int) time.Duration

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

// mostIn returns the most units that left in a half-open window.
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
// leave than the limit admits. No call waits for longer than its slot and its answer, and
// again as long as an answer.
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
					checkWindows(t, all, limit)
					if last, most := all[79].after, 80*apart+2*slow+limit.Period; last > most {
						t.Errorf("the last call left after %v, want at most %v", last, most)
					}
					time.Sleep(10 * time.Second)
				})
			})
		}
	}
}

// checkWindows checks that in no window more left than a limit admits. A line that was
// late catches up by a 64th of the time.
func checkWindows(t *testing.T, all []left, limit weir.Limit) {
	t.Helper()
	admits := limit.Rate
	switch limit.Algorithm {
	case weir.GCRA:
		unit := limit.Period / time.Duration(limit.Rate) * 63 / 64
		for n := int64(1); n <= 2*limit.Max(); n++ {
			if most := mostIn(all, time.Duration(n)*unit); most > limit.Max()+n-1 {
				t.Errorf("%d units left in the time of %d, want at most %d", most, n, limit.Max()+n-1)
			}
		}
		return
	case weir.FixedWindow, weir.AlignedWindow, weir.SlidingCounter:
		admits *= 2
	}
	if most := mostIn(all, limit.Period*63/64); most > admits {
		t.Errorf("%d units left in %v, want at most %d", most, limit.Period*63/64, admits)
	}
}

var _ = errors.Is
var _ = rand.New
