package fallback_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// The primary is far away, and loses a busy key. It soon decides all calls for the key
// again.
func TestHotKeyFarAway(t *testing.T) {
	t.Parallel()
	for _, starts := range []bool{false, true} {
		for _, rtt := range []time.Duration{10 * time.Millisecond, 20 * time.Millisecond, 30 * time.Millisecond, 38 * time.Millisecond} {
			t.Run(fmt.Sprint("starts ", starts, " RTT ", rtt), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p := newPrimary(t)
					var of store.Store = p
					if starts {
						of = &starter{primary: p}
					}
					s := open(t, fallback.Config{Primary: of})
					meet(t, s)
					l := store.Per(1_000_000, time.Hour).By(store.FixedWindow)
					take(t, s, charge("k", 60, l))
					p.set(nil, rtt)
					time.Sleep(time.Second)
					p.forget(t)
					var local [4]atomic.Int64
					for i := range 2000 {
						go func() {
							if take(t, s, charge("k", 1, l)).Degraded {
								local[i/500].Add(1)
							}
						}()
						time.Sleep(time.Millisecond)
					}
					time.Sleep(3 * time.Second)
					for i := range local {
						if n := local[i].Load(); i > 0 && n > 0 {
							t.Errorf("%d of 500 calls are decided without the primary %v after the loss", n, time.Duration(i)*500*time.Millisecond)
						}
					}
					if left := take(t, p.store, charge("k", 0, l)).Remaining; left > 1_000_000-2060 {
						t.Errorf("%d remaining", left)
					}
				})
			})
		}
	}
}
