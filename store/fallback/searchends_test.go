package fallback_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// After an outage without a loss, the search for lost keys looks at a few of them.
func TestSearchOfKeptKeysEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPrimary(t)
		s := open(t, fallback.Config{Primary: p, Probe: time.Second})
		for i := range 500 {
			take(t, s, charge(fmt.Sprint(i), 1, store.Per(100, time.Hour)))
		}
		cycle(t, p, s, func() { p.calls.Store(0) })
		time.Sleep(time.Minute)
		if n := p.calls.Load(); n > 40 {
			t.Errorf("%d calls of the primary, want at most 40 for 500 kept keys", n)
		}
	})
}

// A search whose looks fail ends, also without calls that open the state.
func TestSearchWithoutAnswersEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPrimary(t)
		s := open(t, fallback.Config{Primary: p})
		take(t, s, charge("k", 1, store.Per(100, time.Hour)))
		p.set(errBroken, 0)
		if d := take(t, s, charge("k", 1, store.Per(100, time.Hour))); !d.Degraded || s.State() != fallback.StateClosed {
			t.Fatalf("degraded %v in state %v", d.Degraded, s.State())
		}
		p.calls.Store(0)
		time.Sleep(30 * time.Minute)
		if n := p.calls.Load(); n < 10 || n > 100 {
			t.Errorf("%d calls of the primary in half an hour, want 10 to 100", n)
		}
	})
}
