package line_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
)

// The store's clock steps while calls wait. Calls from before the step wait for none from
// after it, nor the other way about: they would all leave at once then.
func TestStoresClockSteps(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{-time.Hour, -time.Minute, -5 * time.Second, 0, 5 * time.Second, time.Minute, time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(0, true)
				var mu sync.Mutex
				var wg sync.WaitGroup
				var left, want []time.Duration
				wait := func(clock, after time.Duration) {
					call, _ := b.Enter(line.ID{Key: "k", Cost: 1}, time.Time{})
					at := micros(time.Now().Add(clock))
					d := store.Decision{Delay: after, At: at, Slot: at + store.Instant(after.Microseconds())}
					s := line.Granted(&d, nil, time.Now(), time.Now())
					want = append(want, time.Since(b.start)+after)
					wg.Go(func() {
						if _, again, err := call.Wait(t.Context(), s, time.Time{}); again || err != nil {
							t.Error(again, err)
						}
						mu.Lock()
						defer mu.Unlock()
						left = append(left, time.Since(b.start))
					})
					synctest.Wait()
				}
				for i := range 10 {
					wait(0, time.Duration(i+1)*100*ms)
				}
				time.Sleep(50 * ms)
				for i := range 3 {
					wait(by, time.Duration(i)*400*ms+300*ms)
				}
				wg.Wait()
				if slices.Sort(want); !slices.Equal(left, want) {
					t.Errorf("calls left after %v, want %v", left, want)
				}
				time.Sleep(2 * time.Second)
			})
		})
	}
}

// A brake from before a step back of the store's clock moves no slot of a call that comes
// after the step: the store's answer has the key's clock since then.
func TestBrakeFromBeforeAStepBack(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{-5 * time.Second, -time.Minute, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(0, true)
			b.watch(t)
			b.tell("k", clock(time.Second, 0))
			time.Sleep(3 * time.Second)
			call, _ := b.Enter(line.ID{Key: "k", Cost: 1}, time.Time{})
			now := time.Now()
			d := store.Decision{
				Delay: 300 * ms, At: micros(now.Add(by)), Slot: micros(now.Add(300 * ms)), // The key's time goes on.
				Clock: &exact.Move{Clock: exact.Clock{At: now.Add(by).UnixMicro(), V: now.UnixMicro()}},
			}
			_, again, err := call.Wait(t.Context(), line.Granted(&d, nil, now, now), time.Time{})
			if waited := time.Since(now); again || err != nil || waited != 300*ms {
				t.Errorf("%v: the call left after %v, want 300ms; %v, %v", by, waited, again, err)
			}
			time.Sleep(2 * time.Second)
		})
	}
}
