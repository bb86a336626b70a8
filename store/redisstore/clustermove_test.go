package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// moveSlot begins to move a key's slot to another node.
func moveSlot(t *testing.T, cluster *redistest.Cluster, key string) *redistest.Move {
	t.Helper()
	from, to := cluster.Node(key), cluster.Nodes[0]
	if from == to {
		to = cluster.Nodes[1]
	}
	return cluster.Move(key, from, to)
}

// TestSlotsOnTheMove: two stores decide while slots move from node to node, and stay half
// moved for a while. No call fails, and each counts once.
func TestSlotsOnTheMove(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	const keys, callers, burst = 12, 16, 1_000_000
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
						req.MaxWait = time.Second
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
	meanwhile := func() { // Each key gets calls.
		for until := calls.Load() + 4*callers; calls.Load() < until && !t.Failed(); {
			time.Sleep(100 * time.Microsecond)
		}
	}
	for k := range keys {
		key := stateOf(stores[0], name(k))
		move := moveSlot(t, cluster, key)
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

// TestKeyOfAMovingSlot: a key with several names in Redis is decided while all its names are
// on one node. Otherwise it is an error of that key. It never is admitted twice.
func TestKeyOfAMovingSlot(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	s := newStore(t, cluster.Client())
	limit := store.Per(5, time.Hour)
	window := limit.By(store.SlidingWindow)
	n := 0
	for name, limits := range map[string][]store.Limit{"a bucket": {limit}, "a window": {window}, "two limits": {window, store.Per(7, time.Hour)}} {
		for _, held := range []bool{false, true} {
			for move, names := range map[string]func(state string) []string{
				"nothing is there yet": nil,
				"all have moved":       func(state string) []string { return []string{state, rediskey.Log(state), rediskey.Held(state)} },
				"none has moved":       func(string) []string { return []string{} },
				"the state has moved":  func(state string) []string { return []string{state} },
				"the log has moved":    func(state string) []string { return []string{rediskey.Log(state)} },
			} {
				n++
				key, ids := fmt.Sprint("key", n), 0
				call := func() (store.Decision, error) {
					req := charge(key, 1, limits...)
					if ids++; held {
						req.Hold = store.Hold{Max: 10, ID: fmt.Sprint(ids), Lease: time.Minute}
					}
					return s.Take(t.Context(), req)
				}
				what := fmt.Sprint(name, ", held ", held, ", ", move)
				admitted := 0
				if names != nil {
					if d, err := call(); err != nil || !d.Allowed {
						t.Fatalf("%s: %+v, %v", what, d, err)
					}
					admitted++
				}
				slot := moveSlot(t, cluster, stateOf(s, key))
				if names != nil {
					for _, name := range names(stateOf(s, key)) {
						slot.Key(name)
					}
				}
				for range 3 {
					d, err := call()
					switch one, ok := err.(interface{ OfOneKey() bool }); {
					case err == nil && d.Allowed:
						admitted++
					case err == nil:
						t.Errorf("%s: %+v", what, d)
					case !ok || !one.OfOneKey() || move == "all have moved" || move == "nothing is there yet" && name == "a bucket" && !held:
						t.Errorf("%s: %v, want an error of one key where its names are apart", what, err)
					}
					if err != nil {
						break
					}
				}
				slot.End()
				for range 8 {
					if d, err := call(); err != nil {
						t.Errorf("%s: when the slot has moved: %v", what, err)
					} else if d.Allowed {
						admitted++
					}
				}
				if admitted != 5 {
					t.Errorf("%s: %d admitted of 5", what, admitted)
				}
			}
		}
	}
}

// TestResetOfAKeyAtTwoPlaces: each node forgets its part.
func TestResetOfAKeyAtTwoPlaces(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	s := newStore(t, cluster.Client())
	limit := store.Per(10, time.Hour).By(store.SlidingWindow)
	take(t, s, charge("key", 1, limit))
	slot := moveSlot(t, cluster, stateOf(s, "key"))
	slot.Key(stateOf(s, "key"))
	if err := s.Reset(t.Context(), "", "key"); err != nil {
		t.Fatal(err)
	}
	slot.End()
	if d := take(t, s, charge("key", 1, limit)); d.Remaining != 9 {
		t.Errorf("when the slot has moved: %+v", d)
	}
}

// TestSlotThatNobodyServes: only the keys of that slot fail.
func TestSlotThatNobodyServes(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, "--cluster-require-full-coverage", "no")
	s := newStore(t, cluster.Client())
	limit := store.Per(10, time.Hour)
	node := cluster.Node(stateOf(s, "key0"))
	var reqs []store.Request
	for i := 0; len(reqs) < 20; i++ {
		if key := fmt.Sprint("key", i); cluster.Node(stateOf(s, key)) == node {
			reqs = append(reqs, charge(key, 1, limit))
			take(t, s, reqs[len(reqs)-1])
		}
	}
	if err := node.Client().ClusterDelSlots(t.Context(), int(slot(stateOf(s, "key0")))).Err(); err != nil {
		t.Fatal(err)
	}
	_, errs := batch(s, reqs)
	for i, err := range errs {
		if (err != nil) != (i == 0) {
			t.Errorf("%s: %v", reqs[i].Charges[0].Key, err)
		}
	}
}

// TestContextEndsOnTheMove: a call whose keys are on the move fails with the end of its
// context.
func TestContextEndsOnTheMove(t *testing.T) {
	t.Parallel()
	s, g := gated(t)
	answer := func() error { return serverError("TRYAGAIN Multiple keys request during rehashing of slot") }
	g.answer.Store(&answer)
	ctx, cancel := context.WithTimeout(t.Context(), splitPause)
	defer cancel()
	if _, err := s.Renew(ctx, "", "key", time.Second, "id"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
