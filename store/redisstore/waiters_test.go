package redisstore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// TestWaiters has hundreds of calls wait on a hundred a second: one store call
// each, admitted in the order in which they came, and none before its slot.
func TestWaiters(t *testing.T) {
	server := redistest.Start(t)
	c := server.Client(func(o *redis.Options) { o.PoolTimeout = time.Minute })
	store := newStore(t, c)
	l, err := weir.New(weir.Config{Store: store, Limits: []weir.Limit{weir.PerSecond(100).WithBurst(1)}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if err := l.Wait(ctx, "warm up"); err != nil {
		t.Fatal(err)
	}
	hears(t, store)
	waiters := long.Or(1000, 300)
	type admission struct {
		waiter int
		at     time.Time
	}
	var mu sync.Mutex
	var admitted []admission
	start := time.Now()
	commands := server.CommandsDuring(func() {
		var wg sync.WaitGroup
		for i := range waiters {
			arrived := make(chan struct{})
			wg.Go(func() {
				close(arrived)
				if err := l.Wait(ctx, "key"); err != nil {
					t.Error(err)
					return
				}
				at := time.Now()
				mu.Lock()
				admitted = append(admitted, admission{i, at})
				mu.Unlock()
			})
			<-arrived
		}
		wg.Wait()
	})
	// One more when the limiter's watch began after the first had booked; taking
	// slots is the only thing that writes.
	if commands["set"] != waiters || commands["evalsha"] < waiters || commands["evalsha"] > waiters+1 || commands["eval"] != 0 {
		t.Errorf("%d waiters took %v", waiters, commands)
	}
	if len(admitted) != waiters {
		t.Errorf("%d of %d were admitted", len(admitted), waiters)
	}
	// Nobody gets the place of one who came before. That one may be late all the
	// same, when the machine is busy, and goroutines that start at the same
	// moment have no order of arrival.
	overtaking := 0
	for _, a := range admitted {
		if a.at.Sub(start) < time.Duration(a.waiter-20)*10*time.Millisecond {
			overtaking++
		}
	}
	if overtaking > waiters/50 {
		t.Errorf("%d were admitted more than 20 places before theirs", overtaking)
	}
	slices.SortFunc(admitted, func(a, b admission) int { return a.at.Compare(b.at) })
	for i, a := range admitted {
		if early := a.at.Sub(start) - time.Duration(i)*10*time.Millisecond; early < 0 {
			t.Errorf("admission %d came %v early", i, -early)
		}
	}
}

// hears has a store subscribed to brakes until the test ends. Those whose slot
// comes before that look for one, and how often is up to the machine.
func hears(t *testing.T, s *Store) {
	t.Helper()
	watch := s.WatchBrakes(func(string, string, store.Clock) {})
	t.Cleanup(watch.Stop)
	for !watch.Covers(time.Now()) {
		time.Sleep(time.Millisecond)
	}
}

// TestCancelledWaiters has 990 of a thousand waiters leave: the others move up,
// and the slots that are not needed go back to the store.
func TestCancelledWaiters(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := server.Client(func(o *redis.Options) { o.PoolTimeout = time.Minute })
	st := newStore(t, c)
	var admitted atomic.Int64
	booked := make(chan struct{}, 1)
	const waiters = 1000
	limit := store.Per(10, time.Second).WithBurst(1)
	l, err := weir.New(weir.Config{Store: st, Limits: []weir.Limit{weir.Limit(limit)}, Hook: weir.HookFunc(func(_ context.Context, e weir.Event) {
		if e.Kind == weir.EventDecision {
			select {
			case booked <- struct{}{}:
			default: // a Peek
			}
		}
	})})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	start := time.Now()
	var wg sync.WaitGroup
	for i := range waiters {
		mine := ctx
		if i%100 == 99 {
			mine = context.Background()
		}
		wg.Go(func() {
			err := l.Wait(mine, "key")
			switch {
			case err == nil:
				admitted.Add(1)
			case !errors.Is(err, context.Canceled):
				t.Error(err)
				booked <- struct{}{} // in place of a decision
			}
		})
		// One by one: what is given back out of order may stay used.
		<-booked
	}
	// The last decision has been made, but whose it is may not be in line yet.
	time.Sleep(time.Second)
	cancel()
	wg.Wait()
	// All thousand would take a hundred seconds, so would ten that kept their
	// places among them.
	if took := time.Since(start); took > 50*time.Second {
		t.Errorf("%d admissions took %v", admitted.Load(), took)
	}
	// The next slot is right behind the last one that was used.
	for {
		d, err := l.Peek(context.Background(), "key")
		if err != nil {
			t.Fatal(err)
		}
		if d.ResetAfter <= 200*time.Millisecond {
			break
		}
		// A hundred seconds after the start it would be so whatever was given back.
		if time.Since(start) > 60*time.Second {
			t.Fatalf("slots were left behind: %+v", d)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
