package fallback

import (
	"testing"
	"testing/synctest"
	"time"
)

// An answer that comes right after a timer that is late is in time; after one
// that is not, it is late.
func TestHeldUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		late, answer time.Duration
		want         bool
	}{
		"the timer is punctual":              {0, time.Millisecond, false},
		"the timer is late, so the answer":   {10 * time.Millisecond, time.Millisecond, true},
		"the timer is late, and no answer":   {10 * time.Millisecond, time.Hour, false},
		"the answer is there with the timer": {10 * time.Millisecond, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				answered := make(chan struct{})
				a := &attempt{store: &Store{cfg: Config{Budget: 50 * time.Millisecond}}, end: &ending{at: time.Now()}}
				time.Sleep(c.late)
				time.AfterFunc(c.answer, func() { close(answered) })
				synctest.Wait()
				if got := a.heldUp(answered); got != c.want {
					t.Errorf("got %v, want %v", got, c.want)
				}
			})
		})
	}
}
