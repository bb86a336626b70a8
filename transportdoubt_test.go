package weir_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/dialects"
	"github.com/goweir/weir/weirtest"
)

// TestLateRequestsAreNoNews: those that were granted their slots first and
// arrive last are told that little is left, which the others of the fleet have
// used: that slows down nobody.
func TestLateRequestsAreNoNews(t *testing.T) {
	t.Parallel()
	limit := weir.Per(200, 10*time.Second).By(weir.SlidingWindow)
	for name, dialect := range map[string]dialects.Dialect{
		"draft 11": dialects.Draft11, "x-ratelimit": dialects.XRateLimitDelta,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var sent atomic.Int64
				f := newFleet(t, 4, weirtest.ProviderConfig{
					Limits: []weir.Limit{limit}, Hook: dialect,
					Travel: func(*http.Request) time.Duration {
						if sent.Add(1)%200 <= 20 {
							return 50 * time.Millisecond
						}
						return time.Millisecond
					},
				}, limit.Stretch(400*time.Millisecond))
				f.send(t, 50, 35*time.Second)
				n := f.provider.Counts()
				if f.store.brakes != 0 || n.Refused() != 0 || n.Admitted < 800 {
					t.Errorf("%d brakes, %+v", f.store.brakes, n)
				}
				// A look now and then is what the doubt costs.
				if most := int(n.Arrived()) + 4 + 4*5; f.store.takes > most {
					t.Errorf("%d requests took %d decisions, want at most %d", n.Arrived(), f.store.takes, most)
				}
			})
		})
	}
}

// TestUseByOthersIsNews: units that somebody outside of the fleet has used are
// seen to be gone.
func TestUseByOthersIsNews(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limit := weir.Per(100, 10*time.Second).By(weir.FixedWindow)
		f := newFleet(t, 2, weirtest.ProviderConfig{Limits: []weir.Limit{limit}, Hook: dialects.Draft11}, limit)
		stranger := f.provider.Transport()
		for range 90 {
			req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "https://api.example.com/", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := stranger.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
		}
		for i := range 30 {
			f.get(t, i%2)
		}
		if n := f.provider.Counts().Refused(); n != 0 || f.store.brakes == 0 {
			t.Errorf("%d were refused, %d brakes were set", n, f.store.brakes)
		}
	})
}
