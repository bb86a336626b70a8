package redisstore

import (
	"context"
	"errors"
	"fmt"
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

// arrivals is a Store that reports each Take. By then the call has its place in the queue.
type arrivals struct{ *Store }

type arrivedKey struct{}

func (a arrivals) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if f, ok := ctx.Value(arrivedKey{}).(func()); ok {
		f()
	}
	return a.Store.Take(ctx, req)
}

// TestWaiters: hundreds of calls wait under a hundred per second. Each takes one store call.
// They are admitted in order of arrival, and none before its slot.
func TestWaiters(t *testing.T) {
	const gap = 10 * time.Millisecond
	server := redistest.Start(t)
	st := newStore(t, server.Client(func(o *redis.Options) { o.PoolTimeout = time.Minute }))
	var booked, waited atomic.Int64
	l, err := weir.New(weir.Config{
		Name: "api", Store: arrivals{st}, Limits: []weir.Limit{weir.PerSecond(100).WithBurst(1)},
		Hook: func(_ context.Context, e weir.Event) {
			switch e.Kind {
			case weir.EventDecision:
				booked.Add(1)
			case weir.EventWait:
				waited.Add(1)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	// reserve books slots, and returns a lower bound of the next one.
	reserve := func(key string, slots int) (next time.Time) {
		for range slots {
			asked := time.Now()
			r, err := l.Reserve(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			next = asked.Add(r.Delay() + gap)
		}
		return next
	}
	hears(t, st)
	waiters := long.Or(1000, 300)
	type admission struct {
		waiter int
		at     time.Time
	}
	try := func(key string) (admitted []admission, first time.Time, inLine bool, commands map[string]int) {
		first = reserve(key, waiters/2)
		// After a call has waited, the limiter watches for brakes for a second.
		for waited.Store(0); waited.Load() == 0; {
			reserve("warm up", 5)
			if err := l.Wait(ctx, "warm up"); err != nil {
				t.Fatal(err)
			}
		}
		booked.Store(0)
		var mu sync.Mutex
		commands = server.CommandsDuring(func() {
			var wg sync.WaitGroup
			for i := range waiters {
				arrived := make(chan struct{})
				wg.Go(func() {
					if err := l.Wait(context.WithValue(ctx, arrivedKey{}, func() { close(arrived) }), key); err != nil {
						t.Error(err)
						return
					}
					at := time.Now()
					mu.Lock()
					defer mu.Unlock()
					admitted = append(admitted, admission{i, at})
				})
				<-arrived
			}
			for booked.Load() < int64(waiters) && time.Now().Before(first) {
				time.Sleep(time.Millisecond)
			}
			inLine = time.Now().Before(first)
			wg.Wait()
		})
		return admitted, first, inLine, commands
	}
	admitted, first, inLine, commands := try("key 1")
	// A call whose answer comes after the first slot may be overtaken.
	for tries := 2; !inLine; tries++ {
		if tries > 5 {
			t.Fatal("the machine is too busy: calls were not in line before the first slot")
		}
		admitted, first, inLine, commands = try(fmt.Sprint("key ", tries))
	}
	// The watch began before, so no call looks for a brake. Only booking writes.
	if commands["set"] != waiters || commands["evalsha"] != waiters || commands["eval"] != 0 {
		t.Errorf("%d waiters took %v", waiters, commands)
	}
	if len(admitted) != waiters {
		t.Errorf("%d of %d were admitted", len(admitted), waiters)
	}
	// No call gets the slot of an earlier one. On a busy machine any call may be late.
	for _, a := range admitted {
		if early := first.Add(time.Duration(a.waiter) * gap).Sub(a.at); early > 0 {
			t.Errorf("waiter %d was admitted %v before its slot", a.waiter, early)
		}
	}
	slices.SortFunc(admitted, func(a, b admission) int { return a.at.Compare(b.at) })
	for i, a := range admitted {
		if early := first.Add(time.Duration(i) * gap).Sub(a.at); early > 0 {
			t.Errorf("admission %d came %v early", i, early)
		}
	}
}

// hears subscribes a store to brakes until the test ends. Calls whose slot comes earlier would
// look for a brake, depending on the machine.
func hears(t *testing.T, s *Store) {
	t.Helper()
	watch := s.WatchBrakes(func(string, string, store.Clock) {})
	t.Cleanup(watch.Stop)
	for !watch.Covers(time.Now()) {
		time.Sleep(time.Millisecond)
	}
}

// TestCancelledWaiters: 990 of a thousand waiters leave. The others move up, and the unused
// slots go back to the store.
func TestCancelledWaiters(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := server.Client(func(o *redis.Options) { o.PoolTimeout = time.Minute })
	st := newStore(t, c)
	var admitted atomic.Int64
	booked := make(chan struct{}, 1)
	const waiters = 1000
	limit := store.Per(10, time.Second).WithBurst(1)
	l, err := weir.New(weir.Config{Name: "api", Store: st, Limits: []weir.Limit{weir.Limit(limit)}, Hook: func(_ context.Context, e weir.Event) {
		if e.Kind == weir.EventDecision {
			select {
			case booked <- struct{}{}:
			default: // Peek
			}
		}
	}})
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
				booked <- struct{}{} // stands for a decision
			}
		})
		// One by one: units given back out of order may stay used.
		<-booked
	}
	// The last decision is made, but its call may not be in the queue yet.
	time.Sleep(time.Second)
	cancel()
	wg.Wait()
	// A thousand calls would take a hundred seconds. So would ten calls in their old places.
	if took := time.Since(start); took > 50*time.Second {
		t.Errorf("%d admissions took %v", admitted.Load(), took)
	}
	// The next slot follows the last used one directly.
	for {
		d, err := l.Peek(context.Background(), "key")
		if err != nil {
			t.Fatal(err)
		}
		if d.ResetAfter <= 200*time.Millisecond {
			break
		}
		// A hundred seconds after the start this holds in any case.
		if time.Since(start) > 60*time.Second {
			t.Fatalf("slots were left behind: %+v", d)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
