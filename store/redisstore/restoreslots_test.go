package redisstore

import (
	"testing"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// Keys of one request on several servers are restored.
func TestKeysInDifferentSlotsAreRestored(t *testing.T) {
	t.Parallel()
	s := newStore(t, redistest.Start(t).Client())
	s.slotted.Store(true)
	for name, cost := range map[string]int64{"allowed": 1, "refused": 9, "a look": 0} {
		req := nested(hours(10, 10), "a "+name, "b "+name)
		for i := range req.Charges {
			req.Charges[i].Limit.Algorithm = store.FixedWindow
			req.Charges[i].Cost = cost
		}
		now := take(t, s, charge("clock", 1, hours(1000)[0])).At
		for i, c := range req.Charges {
			req.Restore = append(req.Restore, store.Memory{Scope: c.Scope, Key: c.Key, Limits: []store.Limit{c.Limit}, ID: "id",
				Spent: []store.Used{{At: now, Units: 5 - int64(i)}}})
		}
		want := []int64{5, 6}
		if name == "allowed" {
			want = []int64{4, 5}
		}
		d := single(t, s, req)
		left := look(t, s, req)
		if d.Allowed != (name != "refused") || left[0] != want[0] || left[1] != want[1] {
			t.Errorf("%s: %v remaining, want %v: %+v", name, left, want, d)
		}
	}
}
