package line_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
)

// TestLagIsMadeUpFor: 20 calls keep a line of 10 slots a second full. There is no watch,
// and looks take different times, so slots wait for looks again and again. The waits must
// not add up: the pace stays, and slots keep half of their distance.
func TestLagIsMadeUpFor(t *testing.T) {
	t.Parallel()
	const interval, minutes, perMinute = 100 * ms, 10, 600
	limit := store.Limit{Rate: 1, Period: interval, Burst: 1}
	for name, took := range map[string]func(*rand.Rand) time.Duration{
		"1 to 10 ms":                  func(r *rand.Rand) time.Duration { return ms + time.Duration(r.Int64N(int64(9*ms))) },
		"up to 40 ms":                 func(r *rand.Rand) time.Duration { return time.Duration(r.Int64N(int64(40 * ms))) },
		"2 ms, each tenth over 50 ms": func(r *rand.Rand) time.Duration { return 2*ms + 60*ms*time.Duration(r.IntN(10)/9) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, r := newBench(0, false), rand.New(rand.NewPCG(1, 2))
				b.clock = func() (store.Clock, error) { time.Sleep(took(r)); return nil, nil }
				var mu sync.Mutex
				var next, last time.Time // the next free slot, the last departure
				var left [minutes + 1]int
				call := func() (over bool) {
					c, _ := b.Enter(line.ID{Key: "k", Cost: 1}, time.Time{})
					defer c.Exit()
					mu.Lock()
					if now := time.Now(); next.Before(now) {
						next = now
					}
					s := b.slot(time.Until(next), nil, limit)
					next = next.Add(interval)
					mu.Unlock()
					if _, again, err := c.Wait(t.Context(), s, time.Time{}); again || err != nil {
						t.Error(again, err)
					}
					mu.Lock()
					defer mu.Unlock()
					now := time.Now()
					if apart := now.Sub(last); apart < interval/2 {
						t.Errorf("two calls left %v apart, want at least %v", apart, interval/2)
					}
					last = now
					minute := min(int(now.Sub(b.start)/time.Minute), minutes)
					left[minute]++
					return minute == minutes
				}
				var calls sync.WaitGroup
				for range 20 {
					calls.Go(func() {
						for !call() {
						}
					})
				}
				calls.Wait()
				if n := left[minutes-1]; n < perMinute*99/100 {
					t.Errorf("%d calls left in the last minute, want %d; by minute: %v", n, perMinute, left[:minutes])
				}
				time.Sleep(2 * time.Second)
			})
		})
	}
}
