package fallback_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// jittery is a primary whose answers come late, in any order, and sometimes not at all.
type jittery struct{ *primary }

func (p jittery) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	time.Sleep(time.Duration(rand.IntN(int(2 * time.Millisecond))))
	d, err := p.primary.Take(ctx, req)
	time.Sleep(time.Duration(rand.IntN(int(2 * time.Millisecond))))
	if err == nil && rand.IntN(200) == 0 {
		return store.Decision{}, errAway
	}
	return d, err
}

// Many concurrent calls use a primary that comes and goes. The excess is at most the
// number of concurrent calls, over all outages together.
func TestFlappingUnderConcurrency(t *testing.T) {
	t.Parallel()
	const callers = 16
	for _, l := range every(200, 100*24*time.Hour) {
		for _, memory := range []bool{true, false} {
			t.Run(fmt.Sprint(l.Algorithm, " memory ", memory), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p := newPrimary(t)
					s := open(t, fallback.Config{Primary: jittery{p}, Probe: 100 * time.Millisecond})
					time.Sleep(24 * time.Hour) // No aligned window ends in the test.
					var admitted atomic.Int64
					var wg sync.WaitGroup
					end := time.Now().Add(10 * time.Second)
					for range callers {
						wg.Go(func() {
							for time.Now().Before(end) {
								if take(t, s, charge("k", 1, l)).Allowed {
									admitted.Add(1)
								}
								time.Sleep(time.Duration(rand.IntN(int(400 * time.Millisecond))))
							}
						})
					}
					for time.Now().Before(end) {
						time.Sleep(300 * time.Millisecond)
						p.set(errAway, 0)
						time.Sleep(300 * time.Millisecond)
						if !memory {
							p.forget(t)
						}
						p.set(nil, 0)
					}
					wg.Wait()
					t.Logf("%d admitted of 200", admitted.Load())
					if n := admitted.Load(); n > 200+callers || n < 150 {
						t.Errorf("%d admitted of 200", n)
					}
					time.Sleep(5 * time.Second) // A probe ends.
				})
			})
		}
	}
}

// Calls cost the whole limit, over a primary that comes and goes. Their excess, booked
// ahead, still counts in later outages.
func TestFlappingWithLargeCosts(t *testing.T) {
	t.Parallel()
	const rate, replicas = 100, 10
	lasts := long.Or(time.Minute, 15*time.Second)
	for _, l := range every(rate, time.Second) {
		for _, times := range [][2]time.Duration{{1500 * time.Millisecond, 1500 * time.Millisecond}, {5 * time.Second, 2 * time.Second}} {
			t.Run(fmt.Sprint(l.Algorithm, " away ", times[0], " back ", times[1]), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p := newPrimary(t)
					var stores []*fallback.Store
					for range replicas {
						stores = append(stores, open(t, fallback.Config{Primary: p, Replicas: replicas}))
					}
					units, start := 0, time.Now()
					for since := time.Duration(0); since < lasts; since = time.Since(start) {
						p.set(nil, 0)
						if since%(times[0]+times[1]) > times[1] {
							p.set(errAway, 0)
						}
						for _, s := range stores {
							if take(t, s, charge("k", rate, l)).Allowed {
								units += rate
							}
						}
						time.Sleep(10 * time.Millisecond)
					}
					// The primary books nothing of an outage ahead. Each process makes up
					// for it by itself, in the next outage.
					there := time.Duration(float64(lasts) * times[1].Seconds() / (times[0] + times[1]).Seconds())
					if most := rate*int((lasts+there)/time.Second) + (replicas+1)*rate; units > most {
						t.Errorf("%d admitted in %s, want at most %d", units, lasts, most)
					}
				})
			})
		}
	}
}
