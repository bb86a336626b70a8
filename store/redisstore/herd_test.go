package redisstore

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/internal/redistest"
)

// TestStoppedServerReleasesNoHerd: 80 calls have slots 100 ms apart. The server stops for
// 5 s. The calls leave meanwhile, and never several together.
func TestStoppedServerReleasesNoHerd(t *testing.T) {
	long.Only(t)
	const waiters, interval, stopped = 80, 100 * time.Millisecond, 5 * time.Second
	server := redistest.Start(t)
	var booked sync.WaitGroup
	booked.Add(waiters)
	l, err := weir.New(weir.Config{
		Name: "herd", Store: newStore(t, server.Client()), Limits: []weir.Limit{weir.PerSecond(10).WithBurst(1)},
		Hook: func(_ context.Context, e weir.Event) {
			if e.Kind == weir.EventDecision {
				booked.Done()
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var left []time.Time
	var all sync.WaitGroup
	for range waiters {
		all.Go(func() {
			if err := l.Wait(t.Context(), "key"); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			left = append(left, time.Now())
		})
	}
	booked.Wait()
	late := watchLateness(t)
	server.Stop()
	time.Sleep(stopped)
	server.Cont()
	all.Wait()
	// On a busy machine a call may leave later than its slot by that much.
	slack := late.stop()
	slices.SortFunc(left, time.Time.Compare)
	most, gap := 0, time.Duration(0)
	for i := range left {
		n := 0
		for _, at := range left[i:] {
			if at.Sub(left[i]) < interval {
				n++
			}
		}
		most = max(most, n)
		if i > 0 {
			gap = max(gap, left[i].Sub(left[i-1]))
		}
	}
	t.Logf("at most %d calls left in %v, the longest gap was %v, the machine was late by %v", most, interval, gap, slack)
	if allowed := 2 + int(slack/interval); most > allowed {
		t.Errorf("%d calls left within %v, want at most %d", most, interval, allowed)
	}
	if longest := 2*interval + 50*time.Millisecond + slack; gap > longest {
		t.Errorf("no call left for %v, want at most %v", gap, longest)
	}
}
