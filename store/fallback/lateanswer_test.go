package fallback_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store/fallback"
)

// An answer that comes late does not know the units that this process has admitted since.
// They count all the same.
func TestLateAnswerForgetsNoUnits(t *testing.T) {
	t.Parallel()
	for _, l := range every(100, time.Hour) {
		t.Run(l.Algorithm.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPrimary(t)
				s := open(t, fallback.Config{Primary: p, Probe: time.Minute})
				meet(t, s)
				take(t, s, charge("k", 50, l))
				p.set(nil, 60*time.Millisecond)
				if d := take(t, s, charge("k", 1, l)); !d.Degraded {
					t.Fatalf("not decided here: %+v", d)
				}
				p.set(errAway, 0)
				admitted := int64(51)
				one := func() {
					if take(t, s, charge("k", 1, l)).Allowed {
						admitted++
					}
				}
				for range 9 {
					one()
				}
				time.Sleep(20 * time.Millisecond) // The first answer comes.
				for range 60 {
					one()
				}
				if admitted != 100 && admitted != 99 { // Redis has charged the first call, too.
					t.Errorf("%d of 100 admitted", admitted)
				}
			})
		})
	}
}
