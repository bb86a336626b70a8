package redisstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// TestSlotsOnTheMove has two stores decide while slots move from node to node and
// stay half moved for a while: no call fails, and each is counted.
func TestSlotsOnTheMove(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	const keys, callers, burst = 40, 64, 1_000_000
	limit := store.Per(burst, burst*20*time.Minute)
	limits := [][]store.Limit{{limit}, {limit, store.Per(2*burst, burst*25*time.Minute)}, {limit.By(store.FixedWindow)}}
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
					req := charge(name(k), 1, limits[k%3]...)
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
		d := take(t, stores[0], charge(name(k), 0, limits[k%3]...))
		if n, left := admitted[k].Load(), d.Charge(0).Remaining; n == 0 || left != burst-n {
			t.Errorf("%s: %d admitted, %d counted", name(k), n, burst-left)
		}
	}
}

// slotMates returns two keys of one slot.
func slotMates(s *Store) (string, string) {
	seen := map[uint16]string{}
	for i := 0; ; i++ {
		key := fmt.Sprint("key", i)
		at := slot(s.stateKey("", key))
		if mate, ok := seen[at]; ok {
			return mate, key
		}
		seen[at] = key
	}
}

// TestPackOfASlotOnTheMove: a key that is not there is asked for where its slot
// moves to, without those that are still here.
func TestPackOfASlotOnTheMove(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	s := newStore(t, cluster.Client())
	limit := store.Per(10, time.Hour)
	absent, present := slotMates(s)
	for range 10 {
		take(t, s, charge(present, 1, limit))
	}
	key := s.stateKey("", absent)
	from, to := cluster.Node(key), cluster.Nodes[0]
	if from == to {
		to = cluster.Nodes[1]
	}
	move := cluster.Move(key, from, to)
	for i := range 12 {
		ds, errs := onBoard(s, []store.Request{charge(absent, 1, limit), charge(present, 1, limit)})
		if errs[0] != nil || errs[1] != nil || ds[0].Allowed != (i < 10) || ds[1].Allowed {
			t.Errorf("flight %d: %+v, %v", i, ds, errs)
		}
	}
	move.End()
	for _, key := range []string{absent, present} {
		if d := take(t, s, charge(key, 1, limit)); d.Allowed {
			t.Errorf("%s: %+v when the slot has moved", key, d)
		}
	}
}

// TestSlotThatNobodyServes: only its own keys fail.
func TestSlotThatNobodyServes(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, "--cluster-require-full-coverage", "no")
	s := newStore(t, cluster.Client())
	limit := store.Per(10, time.Hour)
	node := cluster.Node(s.stateKey("", "key0"))
	var reqs []store.Request
	for i := 0; len(reqs) < 20; i++ {
		if key := fmt.Sprint("key", i); cluster.Node(s.stateKey("", key)) == node {
			reqs = append(reqs, charge(key, 1, limit))
			take(t, s, reqs[len(reqs)-1])
		}
	}
	if err := node.Client().ClusterDelSlots(t.Context(), int(slot(s.stateKey("", "key0")))).Err(); err != nil {
		t.Fatal(err)
	}
	_, errs := onBoard(s, reqs)
	for i, err := range errs {
		if (err != nil) != (i == 0) {
			t.Errorf("%s: %v", reqs[i].Charges[0].Key, err)
		}
	}
}
