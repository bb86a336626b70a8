package redisstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/redistest"
)

// TestSlotsOnTheMove has two stores decide while slots move from node to node and
// stay half moved for a while: no call fails, and each is counted.
func TestSlotsOnTheMove(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	const keys, callers, burst = 40, 64, 1_000_000
	limit := weir.Per(burst, burst*20*time.Minute)
	stores := []*Store{newStore(t, cluster.Client()), newStore(t, cluster.Client())}
	name := func(k int) string { return fmt.Sprint("key", k) }
	var admitted [keys]atomic.Int64
	var calls atomic.Int64
	moved := make(chan struct{})
	var wg sync.WaitGroup
	for _, s := range stores {
		for g := range callers {
			wg.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-moved:
						return
					default:
					}
					k := (g + i) % keys
					req := charge(name(k), 1, limit)
					if i%50 == 0 {
						req.MaxWait = time.Second // So that some keys are strings for a while.
					}
					d, err := s.Take(context.Background(), req)
					if err != nil {
						t.Errorf("%s: %v", name(k), err)
						return
					}
					calls.Add(1)
					if d.Allowed {
						admitted[k].Add(1)
					}
				}
			})
		}
	}
	meanwhile := func() { // Long enough for whatever goes to a key by then.
		for until := calls.Load() + 4*callers; calls.Load() < until && !t.Failed(); {
			time.Sleep(100 * time.Microsecond)
		}
	}
	for k := range keys / 2 {
		key := stores[0].stateKey("", name(k))
		from := cluster.Node(key)
		to := cluster.Nodes[k%len(cluster.Nodes)]
		if from == to {
			continue
		}
		move := cluster.Move(key, from, to)
		meanwhile()
		move.Key(key)
		meanwhile()
		move.End()
		meanwhile()
	}
	close(moved)
	wg.Wait()
	for k := range keys {
		d := take(t, stores[0], charge(name(k), 0, limit))
		if n := admitted[k].Load(); n == 0 || d.Remaining != burst-n {
			t.Errorf("%s: %d admitted, %d counted", name(k), n, burst-d.Remaining)
		}
	}
}
