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
