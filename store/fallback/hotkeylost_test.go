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
	f.recover()
	var commands map[string]int
	for range 10 { // A loaded machine makes calls too late, and these have to be restored later.
		f.recover()
		commands = f.server.CommandsDuring(func() {
			if err := f.admin.FlushAll(context.Background()).Err(); err != nil {
				t.Fatal(err)
			}
			all(rounds)
		})
		if commands["evalsha"] < callers {
			break
		}
	}
	t.Logf("%d calls after the loss took %v", callers*rounds, commands)
	if n := commands["evalsha"]; n >= callers {
		t.Errorf("%d calls of %d callers took %d scripts after the loss, want fewer than %d", callers*rounds, callers, n, callers)
	}
}
