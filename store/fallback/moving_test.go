package fallback_test

import (
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// A key's slot moves in a cluster, which can't decide on the key meanwhile. The local
// store decides, and the primary is charged afterwards. Other keys have no outage.
func TestSlotOnTheMove(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	s := behind(t, cluster.Client(), fallback.Config{Budget: time.Second})
	limit := store.Per(100, time.Hour)
	window := limit.By(store.SlidingWindow)
	take(t, s, charge("moving", 1, window))
	key := "weir:{:moving}"
	from, to := cluster.Node(key), cluster.Nodes[0]
	if from == to {
		to = cluster.Nodes[1]
	}
	move := cluster.Move(key, from, to)
	move.Key(key) // without its log
	for range 10 {
		if d := take(t, s, charge("moving", 1, window)); !d.Allowed || !d.Degraded {
			t.Errorf("%+v, want a local decision", d)
		}
		if d := take(t, s, charge("another", 1, limit)); d.Degraded || s.State() != fallback.StateClosed {
			t.Errorf("another key: %+v, %v", d, s.State())
		}
	}
	move.End()
	if d := take(t, s, charge("moving", 1, window)); d.Degraded || d.Remaining != 88 {
		t.Errorf("after the move: %+v, want 88 remaining", d)
	}
}
