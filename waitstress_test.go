package weir_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
)

// TestWaitStress is for the race detector: it asserts nothing about time.
func TestWaitStress(t *testing.T) {
	t.Parallel()
	s := new(gcraStore)
	l := newLimiter(t, s, func(c *weir.Config) {
		c.Limits = []weir.Limit{weir.PerSecond(50_000).WithBurst(10)}
		c.MaxWaiters = 1000
	})
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for range 50 {
				ctx, cancel := context.WithCancel(t.Context())
				if rand.IntN(2) == 0 {
					time.AfterFunc(time.Duration(rand.IntN(1000))*time.Microsecond, cancel)
				}
				switch err := l.Wait(ctx, "k"); {
				case err == nil:
					admitted.Add(1)
				case !errors.Is(err, context.Canceled):
					t.Error(err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	// The goroutine that gave the last slot back may still be about to end.
	for queues, calls := l.Waiting(); queues+calls > 0; queues, calls = l.Waiting() {
		runtime.Gosched()
	}
	if n := len(s.kept()); n != int(admitted.Load()) {
		t.Errorf("%d slots are booked, want one for each of %d calls", n, admitted.Load())
	}
	for _, m := range s.misused {
		t.Error(m)
	}
}
