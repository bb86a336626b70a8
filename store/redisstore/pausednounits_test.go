package redisstore

import (
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// TestNobodyLeavesInAPauseWithoutUnits: a slot whose booking has no units under the key's
// sliding window does not come in a pause either.
func TestNobodyLeavesInAPauseWithoutUnits(t *testing.T) {
	t.Parallel()
	s, sleep := newStill(t, redistest.Start(t).Client(), "")
	limits := []store.Limit{store.Per(4, 2*time.Second).By(store.FixedWindow), store.Per(100, time.Hour).By(store.SlidingWindow)}
	take(t, s, charge("key", 4, limits...))
	sleep(time.Millisecond)
	var slots []store.Instant
	for _, cost := range []int64{0, 4} {
		req := charge("key", 4, limits...)
		req.Charges[1].Cost, req.MaxWait, req.Cancelable = cost, time.Hour, true
		slots = append(slots, take(t, s, req).Slot)
	}
	brakeKey(t, s, limits, store.Brake{Pause: 10 * time.Second})
	look := take(t, s, charge("key", 0, limits...))
	for i, slot := range slots {
		if at := time.Duration(look.Clock.Real(slot)-look.At) * time.Microsecond; at < 10*time.Second {
			t.Errorf("slot %d comes %v after the start of a pause of 10 s", i, at)
		}
	}
}
