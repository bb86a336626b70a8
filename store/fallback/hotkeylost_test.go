package fallback_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// Many callers share one key, and Redis is some milliseconds away and loses it. The callers
// restore it together: with fewer scripts than callers.
func TestLostHotKeyIsRestoredTogether(t *testing.T) {
	t.Parallel()
	calmly(t, func(t testing.TB, _ *stalls) {
		const callers, rounds = 256, 10
		f := newFleet(t, 1, 10*time.Millisecond, fallback.Config{})
		f.recover()
		l := store.Per(1_000_000, time.Hour).By(store.FixedWindow)
		all := func(rounds int) {
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					for range rounds {
						take(t, f.stores[0], charge("k", 1, l))
					}
				})
			}
			wg.Wait()
		}
		all(rounds)
		// A loaded machine makes some calls too late, and these have to be restored later.
		const losses, enough = 10, 3
		few := 0
		for n := 0; n < losses && few < enough; n++ {
			f.recover()
			commands := f.server.CommandsDuring(func() {
				if err := f.admin.FlushAll(context.Background()).Err(); err != nil {
					t.Fatal(err)
				}
				all(rounds)
			})
			t.Logf("%d calls after a loss took %d scripts", callers*rounds, commands["evalsha"])
			if commands["evalsha"] < callers {
				few++
			}
		}
		if few < enough {
			t.Errorf("after %d of %d losses %d callers took fewer than %d scripts, want %d", few, losses, callers, callers, enough)
		}
	})
}
