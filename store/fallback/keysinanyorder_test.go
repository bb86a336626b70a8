package fallback_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// Calls name the same two keys in different orders, and the primary lacks both. No two
// calls wait for each other.
func TestKeysInAnyOrder(t *testing.T) {
	t.Parallel()
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			p := newPrimary(t)
			s := open(t, fallback.Config{Primary: p})
			meet(t, s)
			l := store.Per(1000, time.Hour)
			// Long keys are not restored in the background.
			a := charge(strings.Repeat("a", 200), 1, l)
			b := charge(strings.Repeat("b", 200), 1, l)
			cycle(t, p, s, func() { take(t, s, a); take(t, s, b) })
			p.set(errBroken, 10*time.Millisecond)
			var wg sync.WaitGroup
			wg.Go(func() { _, _ = s.Take(context.Background(), b) }) // fails, and lets the others go on
			synctest.Wait()
			p.set(nil, 5*time.Millisecond)
			for _, charges := range [][]store.Charge{slices.Concat(a.Charges, b.Charges), slices.Concat(b.Charges, a.Charges)} {
				wg.Go(func() {
					if d, err := s.Take(context.Background(), store.Request{Charges: charges}); err != nil || d.Degraded {
						t.Errorf("decided without the primary: %+v, %v", d, err)
					}
				})
				synctest.Wait()
			}
			wg.Wait()
			time.Sleep(time.Second)
		})
	}
}
