package redisstore

import (
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// A reset forgets units spent before it, and none spent after it.
func TestResetForgetsWhatWasSpent(t *testing.T) {
	t.Parallel()
	s, sleep := newStill(t, redistest.Start(t).Client(), "")
	for _, l := range every(10, time.Hour) {
		key := l.Algorithm.String()
		take(t, s, charge(key, 1, l))
		m := store.Memory{Key: key, Limits: []store.Limit{l}, ID: key, SpentAt: store.Instant(s.now())}
		used := store.Used{At: store.Instant(s.now()), Units: 5}
		if l.Algorithm == store.GCRA {
			used = store.Used{At: used.At + store.Instant(30*time.Minute/time.Microsecond)}
		}
		if l.Algorithm == store.SlidingCounter || l.Algorithm == store.AlignedWindow {
			used.At -= used.At % store.Instant(time.Hour/time.Microsecond)
		}
		m.Spent = []store.Used{used}
		sleep(time.Second)
		if err := s.Reset(t.Context(), "", key); err != nil {
			t.Fatal(err)
		}
		for _, after := range []bool{false, true} {
			want := int64(10)
			if after {
				sleep(time.Second)
				m.SpentAt, want = store.Instant(s.now()), 5
			}
			if _, err := s.Restore(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			if left := take(t, s, charge(key, 0, l)).Remaining; left != want {
				t.Errorf("%v: spent after the reset: %v: %d remaining, want %d", l.Algorithm, after, left, want)
			}
		}
	}
}
