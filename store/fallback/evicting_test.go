package fallback_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// A primary loses all its keys again and again. The searches that this starts come a second
// apart, and all keys come back within that time.
func TestSearchesAreASecondApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPrimary(t)
		s := open(t, fallback.Config{Primary: p})
		meet(t, s)
		const keys, seconds, calls = 40, 10, 20
		name := func(i int) string { return fmt.Sprint("k", i) }
		l := store.Per(1000, time.Hour).By(store.FixedWindow)
		for i := range keys {
			take(t, s, charge(name(i), 500, l))
		}
		before := p.calls.Load()
		for range seconds * calls {
			time.Sleep(time.Second / calls)
			p.forget(t)
			take(t, s, charge(name(0), 1, l))
		}
		// Each search looks at each key, and repeats the looks that find a loss.
		if n := p.calls.Load() - before; n > 2*(seconds*calls+(seconds+2)*keys) {
			t.Errorf("%d calls of the primary for %d calls in %d s", n, seconds*calls, seconds)
		}
		time.Sleep(2 * time.Second)
		for i := range keys {
			if left := take(t, p.store, charge(name(i), 0, l)).Remaining; left > 500 {
				t.Errorf("key %d: %d remaining of 1000 after a use of 500", i, left)
			}
		}
	})
}
