package redisstore

import (
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// A window that is booked ahead begins and ends when it does, also after a process reports units
// of the present window.
func TestRestoreKeepsAWindowAhead(t *testing.T) {
	t.Parallel()
	now := int64(startMicros)
	s, err := New(Config{Client: redistest.Start(t).Client(), now: func() int64 { return now }})
	if err != nil {
		t.Fatal(err)
	}
	limit := store.Per(10, time.Second).By(store.FixedWindow)
	book := func(cost int64) time.Duration {
		req := charge("key", cost, limit)
		req.MaxWait = time.Hour
		return take(t, s, req).Delay
	}
	book(5)
	if ahead := book(7); ahead != time.Second {
		t.Fatalf("the window ahead begins after %v", ahead)
	}
	now += 300_000
	m := store.Memory{Key: "key", Limits: []store.Limit{limit}, ID: "id", Spent: []store.Used{{At: store.Instant(now), Units: 2}}}
	if _, err := s.Restore(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if delay := book(10); delay != 1700*time.Millisecond {
		t.Errorf("the window after it begins after %v, want 1.7s", delay)
	}
}
