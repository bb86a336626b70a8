package exact

import (
	"testing"
	"time"

	"github.com/goweir/weir/store"
)

// TestStrongBrakeThatIsLifted: a microsecond of a very slow key is longer than a window. A slot is
// still known to lie in the window that counted it.
func TestStrongBrakeThatIsLifted(t *testing.T) {
	t.Parallel()
	for _, a := range []store.Algorithm{store.AlignedWindow, store.SlidingCounter, store.FixedWindow} {
		for _, lift := range []store.Brake{{Lift: true}, {Tell: true, Gap: 20 * time.Millisecond, GapFor: time.Hour}, {Pause: 4 * time.Second}} {
			for phase := range int64(100) {
				s := &story{T: t, rng: newRand(1), now: align(begun, 1e6) + phase*17_003, limits: []store.Limit{store.Per(1000, time.Second).By(a)}}
				s.book(1000, 0)
				s.brake(store.Brake{Tell: true, Gap: time.Hour, GapFor: 2 * time.Hour})
				s.book(600, time.Hour)
				s.now += 200_000
				s.brake(lift)
				s.now++
				for range 4 {
					s.book(450, time.Hour)
				}
				s.judge()
			}
		}
	}
}

// TestLiftedBeforeItsWindow: a slot that a lift brings forward to the last microsecond of a full
// window is booked again.
func TestLiftedBeforeItsWindow(t *testing.T) {
	t.Parallel()
	const minute = int64(60_000_000)
	s := &story{T: t, rng: newRand(1), now: align(begun, minute) + minute/2, limits: []store.Limit{store.Per(2, time.Minute).By(store.AlignedWindow)}}
	s.book(2, 0)
	s.brake(store.Brake{Pause: time.Minute})
	s.now++
	s.book(1, time.Hour)
	s.now = align(begun, minute) + minute - 1
	s.brake(store.Brake{Lift: true})
	s.judge()
}
