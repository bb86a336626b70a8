package fallback_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// The primary forgets a key. It is so far away that a call learns of the loss too late to
// restore the key. After a few calls the primary decides on the key again.
func TestLossFarAway(t *testing.T) {
	t.Parallel()
	for _, starts := range []bool{false, true} {
		for _, policy := range []fallback.Policy{fallback.Local, fallback.Closed} {
			t.Run(fmt.Sprint("starts ", starts, " policy ", policy), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p := newPrimary(t)
					var of store.Store = p
					if starts {
						of = &starter{primary: p}
					}
					s := open(t, fallback.Config{Primary: of, Policy: policy})
					meet(t, s)
					l := store.Per(100, time.Hour).By(store.FixedWindow)
					take(t, s, charge("k", 60, l))
					p.set(nil, 30*time.Millisecond)
					time.Sleep(time.Second)
					p.forget(t)
					local := 0
					for range 10 {
						if d, err := s.Take(t.Context(), charge("k", 1, l)); err != nil || d.Degraded {
							local++
						}
						time.Sleep(time.Second)
					}
					if local > 2 {
						t.Errorf("%d of 10 calls decided without the primary", local)
					}
					time.Sleep(3 * time.Second)
					if left := take(t, p.store, charge("k", 0, l)).Remaining; left > 32 {
						t.Errorf("%d remaining of 100", left)
					}
				})
			})
		}
	}
}
