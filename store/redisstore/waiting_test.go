package redisstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir/store"
)

// TestWatchLetsCallersLeave: of a line and of a flight that stand still.
func TestWatchLetsCallersLeave(t *testing.T) {
	t.Parallel()
	for name, deadline := range map[string]bool{"a cancel": false, "a deadline": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, g := gated(t, false)
			_, open := g.shut()
			defer open()
			ctx, cancel := context.WithCancel(context.Background())
			want := context.Canceled
			if deadline {
				ctx, cancel = context.WithTimeout(context.Background(), 5*slowFlight)
				want = context.DeadlineExceeded
			}
			defer cancel()
			var wg sync.WaitGroup
			defer wg.Wait()
			defer open()
			flying(t, s, g, &wg)
			errs := make(chan error)
			for i := range 20 {
				go func() {
					_, err := s.Take(ctx, charge(fmt.Sprint("key", i%3), 1, store.Per(100, time.Hour)))
					errs <- err
				}()
			}
			g.hold(2) // Some are in a flight by now, and the others follow.
			if !deadline {
				cancel()
			}
			for range 20 {
				if err := <-errs; !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
			}
		})
	}
}

// TestNudgedCallsAreDecidedOnce has callers come, leave and be nudged at any moment
// of flights that take from no time to longer than the watch.
func TestNudgedCallsAreDecidedOnce(t *testing.T) {
	t.Parallel()
	s, g := gated(t, true)
	g.answer = func() error {
		if rand.IntN(3) == 0 {
			time.Sleep(rand.N(3 * time.Millisecond))
		}
		return nil
	}
	const most = 1_000_000
	var wg sync.WaitGroup
	for caller := range 64 {
		wg.Go(func() {
			for i := range 300 {
				ctx, cancel := context.WithCancel(context.Background())
				leaves := i%7 == caller%7
				if leaves {
					go func() {
						time.Sleep(rand.N(3 * time.Millisecond))
						cancel()
					}()
				}
				d, err := s.Take(ctx, charge(fmt.Sprint("key", caller%5), 1, store.Per(most, time.Hour)))
				switch {
				case leaves && errors.Is(err, context.Canceled):
				case err != nil:
					t.Error(err)
				case !d.Allowed || d.Remaining < most-64*300 || d.At == 0:
					t.Errorf("got %+v: it was told before it was decided", d)
				}
				cancel()
			}
		})
	}
	wg.Wait()
}

// TestCallThatEndedInTheLineIsNotCharged: though its caller has not looked yet.
func TestCallThatEndedInTheLineIsNotCharged(t *testing.T) {
	t.Parallel()
	s, g := gated(t, false)
	s.shared.first.watched = true // by nobody
	_, open := g.shut()
	limit := store.Per(100, time.Hour)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	flying(t, s, g, &wg, func() {
		if _, err := s.Take(ctx, charge("key", 1, limit)); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's error", err)
		}
	}, func() { take(t, s, charge("key", 1, limit)) })
	cancel()
	open()
	wg.Wait()
	landed(s)
	if d := take(t, s, charge("key", 0, limit)); d.Remaining != 99 {
		t.Errorf("%d remaining, want 99", d.Remaining)
	}
}

// TestGivingUpNudgesAll: also those of a flight that set off just now, as nobody looks
// at it again.
func TestGivingUpNudgesAll(t *testing.T) {
	t.Parallel()
	s, _ := gated(t, false)
	landed(s)
	c := s.shared.first
	req := charge("key", 1, store.Per(100, time.Hour))
	aboard, stuck := newWaiting().(*waiting), newWaiting().(*waiting)
	aboard.state.Store(inFlight | patient)
	stuck.ctx, stuck.key, stuck.terms = t.Context(), s.stateKey("", "key"), s.termsOf(&req)
	c.mu.Lock()
	c.watched, c.busy, c.moved = true, [lanes]bool{true, true}, [lanes]bool{true, false}
	c.aloft[0], c.line[1] = &flight{calls: []*waiting{aboard}}, []*waiting{stuck}
	c.mu.Unlock()
	c.watch()
	<-stuck.done
	if s := aboard.state.Load(); s != inFlight|nudged {
		t.Errorf("state %d, want that of a call that was nudged", s)
	}
}

// TestPatience: who looks at nothing but the answer at first.
func TestPatience(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(context.Background())
	defer cancel()
	ends, cancel := context.WithTimeout(cancelled, time.Hour)
	defer cancel()
	for name, test := range map[string]struct {
		ctx  context.Context
		want int32
	}{
		"never ends":         {context.Background(), inLine},
		"may be cancelled":   {cancelled, inLine | patient},
		"ends at an instant": {ends, inLine},
	} {
		if got := patience(test.ctx); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}
