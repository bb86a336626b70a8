package redisstore

import (
	"context"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// TestPauseOutlivesBookings: a window that a booking opens at the end of a pause is no sign
// of a clock that stepped back. The pause lasts as long as asked for.
func TestPauseOutlivesBookings(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	for _, l := range every(5, time.Second) {
		for _, cancelable := range []bool{false, true} {
			s, sleep := newStill(t, client, l.Algorithm.String()+map[bool]string{true: "cancelable"}[cancelable]+":")
			if err := s.Brake(context.Background(), charge("key", 0, l).Charges, store.Brake{Pause: 10 * time.Second}); err != nil {
				t.Fatal(err)
			}
			req := charge("key", 1, l)
			req.MaxWait, req.Cancelable = time.Minute, cancelable
			for i := range 3 {
				if d := take(t, s, req); d.Delay < 10*time.Second-time.Duration(i)*time.Second {
					t.Errorf("%v, cancelable %v: booking %d waits %v, want at least until the end of the pause", l.Algorithm, cancelable, i, d.Delay)
				}
				sleep(time.Second)
			}
			if d := take(t, s, charge("key", 1, l)); d.Reason != store.ReasonPaused || d.RetryAfter < 7*time.Second {
				t.Errorf("%v, cancelable %v: %+v, want a pause of 7 s", l.Algorithm, cancelable, d)
			}
		}
	}
}
