package weir_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

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
