package fallback_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store/fallback"
)

// The number of processes changes in an outage. Units admitted before count as much as
// ever, and the former share is no other limit.
func TestReplicasChangeInAnOutage(t *testing.T) {
	t.Parallel()
	for _, l := range every(100, time.Hour) {
		for _, n := range [][2]int64{{1, 10}, {10, 1}} {
			t.Run(fmt.Sprint(l.Algorithm, n), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p := newPrimary(t)
					var replicas atomic.Int64
					replicas.Store(n[0])
					s := open(t, fallback.Config{Primary: p, ReplicasFunc: func() int { return int(replicas.Load()) }})
					meet(t, s)
					time.Sleep(time.Minute)
					admitted := int64(0)
					cycle(t, p, s, func() {
						use := func() {
							d := take(t, s, charge("k", 1, l))
							if d.Allowed {
								admitted++
							}
							if d.OtherLimits {
								t.Error("the former share counts as another limit")
							}
						}
						for range 8 {
							use()
						}
						replicas.Store(n[1])
						for range 2 {
							use()
						}
					})
					time.Sleep(time.Second)
					left := take(t, p.store, charge("k", 0, l)).Remaining
					if used := 100 - left; used < admitted || used > admitted+1 {
						t.Errorf("the primary counts %d as used, want %d", used, admitted)
					}
				})
			})
		}
	}
}
