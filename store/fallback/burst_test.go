package fallback_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store/fallback"
)

// TestNoSecondBurst takes a key to its limit, and the primary away and back, with and
// without its memory. The key never gets more.
func TestNoSecondBurst(t *testing.T) {
	t.Parallel()
	for _, l := range every(20, time.Hour) {
		for _, memory := range []bool{true, false} {
			for _, before := range []int64{0, 10, 20} {
				t.Run(fmt.Sprint(l.Algorithm, " memory ", memory, " used ", before), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						p := newPrimary(t)
						s := open(t, fallback.Config{Primary: p})
						// Aligned windows must not end while the test runs.
						time.Sleep(10 * time.Minute)
						admitted := int64(0)
						call := func() {
							if take(t, s, charge("k", 1, l)).Allowed {
								admitted++
							}
						}
						for range before {
							call()
						}
						for range 3 {
							p.set(errAway, 0)
							for range 8 {
								call()
							}
							if !memory {
								p.forget(t)
							}
							p.set(nil, 0)
							time.Sleep(time.Second + time.Millisecond)
							call() // starts the probe
							synctest.Wait()
							for range 8 {
								call()
							}
							if s.State() != fallback.StateClosed {
								t.Fatalf("the breaker is %v", s.State())
							}
						}
						for range 40 {
							call()
						}
						if admitted != 20 {
							t.Errorf("%d admitted of 20", admitted)
						}
					})
				})
			}
		}
	}
}

// After an outage longer than the window, no earlier unit counts.
func TestLongOutageLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for _, l := range every(10, time.Second) {
		t.Run(l.Algorithm.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPrimary(t)
				s := open(t, fallback.Config{Primary: p})
				for range 10 {
					take(t, s, charge("k", 1, l))
				}
				p.set(errAway, 0)
				for range 10 {
					take(t, s, charge("k", 1, l))
				}
				time.Sleep(10 * time.Second)
				p.set(nil, 0)
				time.Sleep(3 * time.Second)
				for i := range 10 {
					if d := take(t, s, charge("k", 1, l)); !d.Allowed || d.Degraded {
						t.Fatalf("call %d after the outage: %+v", i, d)
					}
				}
				if d := take(t, s, charge("k", 1, l)); d.Allowed {
					t.Errorf("eleventh of ten: %+v", d)
				}
			})
		})
	}
}
