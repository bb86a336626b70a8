package weir_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/dialects"
	"github.com/goweir/weir/weirtest"
)

// TestShortWindowIsUsed: resets in whole seconds look long beside a window of
// two; a lowered limit is used all the same.
func TestShortWindowIsUsed(t *testing.T) {
	t.Parallel()
	full := weir.Per(40, 2*time.Second).By(weir.SlidingWindow)
	low := weir.Per(16, 2*time.Second).By(weir.SlidingWindow)
	for name, dialect := range map[string]dialects.Dialect{
		"draft 11": dialects.Draft11, "x-ratelimit, epoch": dialects.XRateLimitEpoch,
		"x-ratelimit, delta": dialects.XRateLimitDelta, "openai": dialects.OpenAI,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(300 * time.Millisecond) // not at a whole second
				f := newFleet(t, 3, weirtest.ProviderConfig{
					Limits: []weir.Limit{full}, Hook: dialect, Latency: func(*http.Request) time.Duration { return time.Millisecond },
				}, weir.Per(40, 2100*time.Millisecond).WithBurst(1))
				go f.send(t, 4, 35*time.Second)
				time.Sleep(5 * time.Second)
				if err := f.provider.SetLimits(low); err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Second)
				before := f.provider.Counts()
				time.Sleep(20 * time.Second)
				after := f.provider.Counts()
				n := after.Admitted - before.Admitted
				t.Logf("%d admitted in 20 s, of 160", n)
				if n < 104 || after.Refused() != before.Refused() {
					t.Errorf("%d admitted in 20 s at 16 in 2 s, %d refused", n, after.Refused()-before.Refused())
				}
				time.Sleep(20 * time.Second)
			})
		})
	}
}
