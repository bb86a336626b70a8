package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// A call that reports spent units is decided on a state with these units, by each master of a
// cluster: also by one that knows the script of Take, and not yet that of Restore.
func TestReportsToAllMasters(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	s := newStore(t, cluster.Client())
	l := store.Per(10, time.Hour).By(store.FixedWindow)
	for i := range 12 {
		take(t, s, charge(fmt.Sprint("k", i), 0, l))
		take(t, s, charge(fmt.Sprint("other", i), 1, l))
	}
	for i := range 12 {
		req := charge(fmt.Sprint("k", i), 1, l)
		req.Seen = make([]store.Seen, 1)
		take(t, s, req)
		used := req.Seen[0].Used
		spent := used
		spent.Units = 9
		req.Restore = []store.Memory{{
			Key: req.Charges[0].Key, Limits: []store.Limit{l}, At: req.Seen[0].At, Known: []store.Used{used},
			ID: "spent", SpentAt: req.Seen[0].At, Spent: []store.Used{spent},
		}}
		if d := take(t, s, req); d.Allowed {
			t.Errorf("key %d: %+v, want a refusal", i, d)
		}
	}
}
