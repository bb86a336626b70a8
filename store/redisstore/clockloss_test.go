package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// TestStepBackIsNoLoss: the server's clock steps back to before a key's birth. Callers that
// have seen the key since then have lost nothing, also when the clock passes that birth again.
func TestStepBackIsNoLoss(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	const day = 24 * time.Hour
	for _, l := range every(100, 365*day) {
		for _, restored := range []bool{false, true} {
			for i, back := range []time.Duration{time.Second, time.Minute, time.Hour} {
				s, sleep := newStill(t, client, fmt.Sprint(l.Algorithm, restored, i, ":"))
				if sleep(9 * day); restored {
					restoreKey(t, s, sleep, []store.Limit{l})
					sleep(5 * time.Second) // Its slots are over.
				}
				req := charge("key", 10, l)
				req.Seen = make([]store.Seen, 1)
				left := take(t, s, req).Remaining
				call := func() {
					t.Helper()
					left -= 10
					d, err := s.Take(t.Context(), req)
					if err != nil || d.Remaining != left {
						t.Errorf("%v back, %v: %d left, want %d; %v", back, l.Algorithm, d.Remaining, left, err)
					}
				}
				for range 2 {
					sleep(-back)
					call()
					sleep(back / 2)
					call()
				}
				sleep(back)
				call()
				sleep(back)
				call()
			}
		}
	}
}

// TestReportAfterAStepBack: the server's clock steps back, and a process reports units of a
// window that opened before that, by the clock of that time. The window's units stay counted.
func TestReportAfterAStepBack(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	for _, l := range every(100, 365*24*time.Hour) {
		for i, back := range []time.Duration{time.Second, time.Minute, time.Hour} {
			s, sleep := newStill(t, client, fmt.Sprint(l.Algorithm, i, ":"))
			sleep(9 * 24 * time.Hour)
			seen := charge("key", 10, l)
			seen.Seen = make([]store.Seen, 1)
			take(t, s, seen)
			take(t, s, charge("key", 20, l))
			used := seen.Seen[0].Used
			m := store.Memory{Key: "key", Limits: []store.Limit{l}, At: seen.Seen[0].At, Known: []store.Used{used}, ID: "spent", SpentAt: seen.Seen[0].At, Spent: []store.Used{used}}
			sleep(-back)
			if _, err := s.Restore(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			if left := take(t, s, charge("key", 0, l)).Remaining; left < 59 || left > 60 {
				t.Errorf("%v, %v back: %d left, want 59 or 60", l.Algorithm, back, left)
			}
		}
	}
}

// TestReportOfSlotsAfterAStepBack: the server's clock steps back, as after a failover, and a
// process reports slots that it booked ahead by the clock before. They hold up later calls no
// longer than without the step.
func TestReportOfSlotsAfterAStepBack(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	for _, l := range []store.Limit{store.Per(20, time.Second).WithBurst(1), store.Per(20, time.Second).By(store.SlidingWindow)} {
		for i, back := range []time.Duration{0, time.Second, time.Minute, time.Hour} {
			s, sleep := newStill(t, client, fmt.Sprint(l.Algorithm, i, ":"))
			sleep(9 * 24 * time.Hour)
			req := charge("key", 1, l)
			req.Seen = make([]store.Seen, 1)
			take(t, s, req)
			seen := req.Seen[0]
			ahead := seen.At + 500_000
			spent := store.Used{At: ahead + 50_000}
			if l.Algorithm == store.SlidingWindow {
				spent = store.Used{At: ahead, Units: 10}
			}
			m := store.Memory{Key: "key", Limits: []store.Limit{l}, At: seen.At, Known: []store.Used{seen.Used}, ID: "spent", SpentAt: seen.At, Spent: []store.Used{spent}, Ahead: ahead}
			sleep(-back)
			for range 2 { // The answer to the first report is lost.
				if _, err := s.Restore(t.Context(), m); err != nil {
					t.Fatal(err)
				}
			}
			if d := reserve(t, s, "key", 1, 2*time.Hour, l); d.Delay < 500*time.Millisecond || d.Delay > 600*time.Millisecond {
				t.Errorf("%v, %v back: the next slot comes in %v, want 500ms to 600ms", l.Algorithm, back, d.Delay)
			}
		}
	}
}

// TestReportAfterAStepBackHoldsNothingUp: a process admits units while Redis is away, the
// server's clock steps back, and the process reports the units. All units count, and none for
// longer than without the step.
func TestReportAfterAStepBackHoldsNothingUp(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	const absent, plain, queued = "absent", "plain", "queued"
	for _, l := range every(10, 10*time.Second) {
		for i, back := range []time.Duration{0, time.Millisecond, 5 * time.Second, time.Minute, time.Hour} {
			for _, key := range []string{absent, plain, queued} {
				for _, twice := range []bool{false, true} {
					s, sleep := newStill(t, client, fmt.Sprint(l.Algorithm, i, key, twice, ":"))
					sleep(9 * 24 * time.Hour)
					left := int64(5)
					if key != absent {
						req := charge("key", 2, l)
						req.Cancelable = key == queued
						take(t, s, req)
						left -= 2
					}
					local := charge("local", 4, l)
					local.Seen = make([]store.Seen, 1)
					take(t, s, local)
					seen := local.Seen[0]
					m := store.Memory{Key: "key", Limits: []store.Limit{l}, ID: "spent", SpentAt: seen.At, Spent: []store.Used{seen.Used}}
					sleep(100*time.Millisecond - back)
					for range map[bool]int{false: 1, true: 2}[twice] {
						if _, err := s.Restore(t.Context(), m); err != nil {
							t.Fatal(err)
						}
						sleep(10 * time.Millisecond)
					}
					d := take(t, s, charge("key", 1, l))
					// The process's clock is off by a few milliseconds at most: part of a unit.
					if least := left - int64(1-min(l.Algorithm, 1)); !d.Allowed || d.Remaining < least || d.Remaining > left {
						t.Errorf("%v, %v back, %s, twice %v: %+v, want %d or %d left", l.Algorithm, back, key, twice, d, least, left)
						continue
					}
					take(t, s, charge("key", d.Remaining, l))
					if d := take(t, s, charge("key", 1, l)); d.Allowed || d.RetryAfter > 2*l.Period {
						t.Errorf("%v, %v back, %s, twice %v, full: %+v", l.Algorithm, back, key, twice, d)
					}
				}
			}
		}
	}
}
