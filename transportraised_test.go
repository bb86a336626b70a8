package weir_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/dialects"
	"github.com/goweir/weir/weirtest"
)

// TestRaisedLimitIsUsedAtOnce: when an upstream raises a limit again, those who
// wait for slots that were far apart do not wait for them any longer.
func TestRaisedLimitIsUsedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// No two responses come within a microsecond: a slot and a brake of the same one
		// can't be told apart, and the clock stands still here where others do not.
		var n atomic.Int64
		latency := func(*http.Request) time.Duration {
			return time.Millisecond + time.Duration(n.Add(1)%1000)*3*time.Microsecond
		}
		full := weir.Per(100, 10*time.Second).By(weir.SlidingWindow)
		low := weir.Per(20, 10*time.Second).By(weir.SlidingWindow)
		f := newFleet(t, 2, weirtest.ProviderConfig{
			Limits: []weir.Limit{full}, Hook: dialects.Draft11, Latency: latency,
		}, full)
		go f.send(t, 50, 2*time.Minute)
		time.Sleep(15 * time.Second)
		if err := f.provider.SetLimits(low); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		if err := f.provider.SetLimits(full); err != nil {
			t.Fatal(err)
		}
		before := f.provider.Counts()
		time.Sleep(30 * time.Second)
		after := f.provider.Counts()
		t.Logf("%d admitted in the 30 s after the limit was raised, of 300", after.Admitted-before.Admitted)
		if n := after.Admitted - before.Admitted; n < 240 || after.Refused() != before.Refused() {
			t.Errorf("%d admitted in 30 s at 100 in 10 s, %d refused", n, after.Refused()-before.Refused())
		}
		time.Sleep(5 * time.Minute)
	})
}
