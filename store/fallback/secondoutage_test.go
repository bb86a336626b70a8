package fallback_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// Calls restore all keys right after an outage, while the background search walks over them.
// A second short outage ends meanwhile. Its units reach the primary without a call.
func TestSecondOutageDuringSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys, again = 64_000, 200
		p := newPrimary(t)
		s := open(t, fallback.Config{Primary: p})
		l := store.Per(5, time.Hour)
		key := func(i int) string { return fmt.Sprint("k", i) }
		outage := func(keys int) {
			p.set(errAway, 0)
			take(t, s, charge("another", 1, l))
			for i := range keys {
				take(t, s, charge(key(i), 1, l))
			}
			p.set(nil, 0)
			for s.State() != fallback.StateClosed {
				time.Sleep(time.Millisecond)
			}
		}
		meet(t, s)
		outage(keys)
		for i := range keys {
			take(t, s, charge(key(i), 1, l))
		}
		time.Sleep(800 * time.Millisecond)
		outage(again)
		time.Sleep(10 * time.Minute)
		for i := range again {
			d, err := p.store.Take(context.Background(), charge(key(i), 0, l))
			if err != nil {
				t.Fatal(err)
			}
			if d.Remaining != 2 { // of 5; 3 units were admitted
				t.Errorf("%s: %d remaining, want 2", key(i), d.Remaining)
			}
		}
	})
}
