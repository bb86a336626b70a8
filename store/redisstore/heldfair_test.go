package redisstore

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// TestLoneWorkerHasItsTurn: a process with many waiting calls takes its own places again at
// once. A process with a single call has its turn all the same.
func TestLoneWorkerHasItsTurn(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	process := func() *weir.Limiter {
		l, err := weir.New(weir.Config{Name: "api", Store: newStore(t, server.Client()), Limits: []weir.Limit{weir.PerSecond(1_000_000)}, InFlight: 1, Lease: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	many, one, works := process(), process(), make(chan struct{})
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for ctx.Err() == nil {
				_ = many.Do(ctx, "k", func(context.Context) error {
					select {
					case works <- struct{}{}:
					case <-time.After(50 * time.Millisecond):
					}
					return nil
				})
			}
		})
	}
	for turn := range 3 {
		<-works
		if err := one.Do(ctx, "k", func(context.Context) error { return nil }); err != nil {
			t.Fatalf("turn %d: %v", turn, err)
		}
	}
	cancel()
	wg.Wait()
}

// TestNextFreePlace: the next free place is kept for a call that asks for it, for a second.
func TestNextFreePlace(t *testing.T) {
	t.Parallel()
	now := int64(1_795_551_921_728_900)
	s, ctx := newStore(t, redistest.Start(t).Client()), t.Context()
	s.now = func() int64 { return now }
	takes := func(id string, most int64, next bool, room time.Duration) {
		t.Helper()
		req := charge("k", 0, store.Per(1000, time.Second)) // a lease alone
		req.Hold = store.Hold{Max: most, ID: id, Lease: time.Minute, Next: next}
		d, err := s.Take(ctx, req)
		if err != nil || d.Allowed != (room == 0) || room > 0 && (d.Reason != store.ReasonInFlight || d.RetryAfter != room) {
			t.Errorf("%s of %d: %+v, %v, want room in %v", id, most, d, err, room)
		}
		now += 1000
	}
	ends := func(id string) {
		t.Helper()
		if err := s.Release(ctx, "", "k", id); err != nil {
			t.Error(err)
		}
	}
	takes("z", 1, false, 0)
	takes("y", 1, false, 59_999*time.Millisecond)
	ends("z")
	takes("a", 1, false, 0)
	takes("b", 1, true, 59_999*time.Millisecond)
	takes("c", 1, true, 59_998*time.Millisecond) // b was first.
	ends("a")
	if lost, err := s.Renew(ctx, "", "k", time.Minute, "b"); err != nil || len(lost) != 1 {
		t.Errorf("renewed before it is taken: lost %q, %v", lost, err)
	}
	takes("c", 1, true, 998*time.Millisecond)
	takes("c", 2, false, 0) // the other free place
	takes("b", 2, true, 0)
	takes("d", 2, true, 59_998*time.Millisecond)
	ends("c")
	now += 999_000
	takes("e", 2, true, 0) // d did not ask again.
	takes("f", 2, true, 58_998*time.Millisecond)
	now -= 3_600_000_000
	ends("e")
	takes("g", 2, true, 0) // Nor did f, by a clock that stepped back.
}
