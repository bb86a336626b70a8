package redisstore

import (
	"testing"
	"time"

	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// A mark of reported units lasts until they count no more, and ten minutes at most: after an
// outage each process leaves one for each key.
func TestMarkLastsAsLongAsItsUnits(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	s, _ := newStill(t, c, "")
	for _, tc := range []struct {
		name      string
		period    time.Duration
		ahead     time.Duration
		min, most time.Duration
	}{
		{name: "a second", period: time.Second, most: 4 * time.Second},
		{name: "a second, slots ahead", period: time.Second, ahead: time.Minute, min: time.Minute, most: time.Minute + 4*time.Second},
		{name: "an hour", period: time.Hour, min: 9 * time.Minute, most: 10 * time.Minute},
		{name: "fifty years", period: store.MaxPeriod, min: 9 * time.Minute, most: 10 * time.Minute},
	} {
		for _, l := range every(10, tc.period) {
			m := store.Memory{Key: tc.name + l.Algorithm.String(), Limits: []store.Limit{l}, ID: "id", SpentAt: store.Instant(s.now())}
			at := s.now() + tc.ahead.Microseconds()
			if tc.ahead > 0 {
				m.Ahead = store.Instant(at)
			}
			used := store.Used{At: store.Instant(at), Units: 1}
			switch l.Algorithm {
			case store.GCRA:
				used = store.Used{At: store.Instant(at + tc.period.Microseconds()/10)}
			case store.SlidingCounter, store.AlignedWindow:
				used.At -= used.At % store.Instant(tc.period.Microseconds())
			}
			m.Spent = []store.Used{used}
			if _, err := s.Restore(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			ttl := c.PTTL(t.Context(), rediskey.Restored(stateOf(s, m.Key), m.ID)).Val()
			if ttl > tc.most || tc.min > 0 && ttl < tc.min/2 { // The server counts real time.
				t.Errorf("%s, %v: the mark lasts %v, want %v to %v", tc.name, l.Algorithm, ttl, tc.min, tc.most)
			}
		}
	}
}
