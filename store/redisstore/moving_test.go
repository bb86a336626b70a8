package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// moveSlot begins to move a key's slot to another node than it is on.
func moveSlot(t *testing.T, cluster *redistest.Cluster, key string) *redistest.Move {
	t.Helper()
	from, to := cluster.Node(key), cluster.Nodes[0]
	if from == to {
		to = cluster.Nodes[1]
	}
	return cluster.Move(key, from, to)
}

// TestKeysThatAreNowhere: what has several keys in Redis is decided while its slot is
// on the move, also when one of them is not there yet, and stays so afterwards.
func TestKeysThatAreNowhere(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	s := newStore(t, cluster.Client())
	limit := store.Per(5, time.Hour)
	window := limit.By(store.SlidingWindow)
	n := 0
	for name, limits := range map[string][]store.Limit{"a window": {window}, "two limits": {window, store.Per(7, time.Hour)}, "a bucket": {limit}} {
		for _, waits := range []time.Duration{0, time.Millisecond} {
			for _, held := range []bool{false, true} {
				n++
				key := fmt.Sprint("key", n)
				name := fmt.Sprint(name, ", waits ", waits, ", held ", held)
				req := func() store.Request {
					req := charge(key, 1, limits...)
					req.MaxWait, req.Cancelable = waits, waits > 0
					if n++; held {
						req.Hold = store.Hold{Max: 10, ID: fmt.Sprint(n), Lease: time.Minute}
					}
					return req
				}
				move := moveSlot(t, cluster, s.stateKey("", key))
				first := take(t, s, req())
				for i := range 4 {
					if d := take(t, s, req()); !d.Allowed || d.Charge(0).Remaining != int64(3-i) {
						t.Errorf("%s: call %d: %+v", name, i, d)
					}
				}
				if waits > 0 {
					if err := s.Cancel(t.Context(), first.Receipt); err != nil {
						t.Errorf("%s: %v", name, err)
					}
					take(t, s, req())
				}
				if d := take(t, s, req()); d.Allowed {
					t.Errorf("%s: the sixth call: %+v", name, d)
				}
				move.End()
				if d := take(t, s, req()); d.Allowed {
					t.Errorf("%s: when the slot has moved: %+v", name, d)
				}
			}
		}
	}
}

// TestKeysThatAreNowhereInAFlight: calls that travel together are decided in their
// order all the same.
func TestKeysThatAreNowhereInAFlight(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	s := newStore(t, cluster.Client())
	limit := store.Per(10, time.Hour).By(store.SlidingWindow)
	there, moving := slotMates(s)
	take(t, s, charge(there, 1, limit))
	move := moveSlot(t, cluster, s.stateKey("", moving))
	for round := range 2 {
		var reqs []store.Request
		for range 6 {
			reqs = append(reqs, charge(moving, 1, limit), charge(there, 1, limit))
		}
		ds, errs := onBoard(s, reqs)
		for i := range reqs {
			k := int64(round*6 + i/2 + 1 + i%2) // The other one has had a call before.
			if errs[i] != nil || ds[i].Allowed != (k <= 10) || ds[i].Allowed && ds[i].Remaining != 10-k {
				t.Errorf("round %d, call %d: %+v, %v", round, i, ds[i], errs[i])
			}
		}
	}
	move.End()
}

// TestKeysAtTwoPlaces: neither node decides while each has one of the keys. That is
// said to concern the key alone, which can be reset.
func TestKeysAtTwoPlaces(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	s := newStore(t, cluster.Client())
	limit := store.Per(10, time.Hour).By(store.SlidingWindow)
	for i, moves := range []func(state, log string) string{
		func(state, _ string) string { return state },
		func(_, log string) string { return log },
	} {
		key := fmt.Sprint("key", i)
		take(t, s, charge(key, 1, limit))
		state, log := s.keys("", key)
		move := moveSlot(t, cluster, state)
		move.Key(moves(state, log))
		_, alone := s.Take(t.Context(), charge(key, 1, limit))
		_, errs := onBoard(s, []store.Request{charge(key, 1, limit)})
		for _, err := range append(errs, alone) {
			if one, ok := err.(interface{ OfOneKey() bool }); !ok || !one.OfOneKey() {
				t.Errorf("%s: %v, want an error of one key", key, err)
			}
		}
		if i == 0 {
			if err := s.Reset(t.Context(), "", key); err != nil {
				t.Error(err)
			}
		}
		move.End()
		if d := take(t, s, charge(key, 1, limit)); d.Remaining != int64(9-i) {
			t.Errorf("%s: when the slot has moved: %+v", key, d)
		}
	}
}
