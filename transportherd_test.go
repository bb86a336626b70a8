package weir_test

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/weirtest"
)

// TestPausesWithoutEnd: an upstream whose bucket is slower than our limit, and says
// no more than when to come back, does not refuse most of what is sent after each pause.
func TestPausesWithoutEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		upstream, ours weir.Limit
		callers        int
		most, least    int64 // refused and admitted in two minutes
	}{
		// The bucket admits 40 at once and 2 per second, 280.
		"a bucket, five times as slow": {weir.PerSecond(2).WithBurst(40), weir.PerSecond(10), 8, 140, 265},
		"a bucket, with many callers":  {weir.PerSecond(2).WithBurst(40), weir.PerSecond(10).WithBurst(100), 100, 220, 265},
		"a bucket, half as fast":       {weir.PerSecond(2).WithBurst(40), weir.PerSecond(4).WithBurst(40), 100, 100, 265},
		"a window of ours":             {weir.PerSecond(2).WithBurst(40), weir.PerMinute(600).By(weir.SlidingWindow), 8, 140, 265},
		// A window refuses few, and most of its 2,400 units are used.
		"a window": {weir.PerSecond(20).By(weir.AlignedWindow), weir.PerSecond(22).By(weir.SlidingWindow), 8, 60, 1800},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 2, weirtest.ProviderConfig{Limits: []weir.Limit{c.upstream}}, c.ours)
				var wg sync.WaitGroup
				end := time.Now().Add(2 * time.Minute)
				for i := range c.callers {
					wg.Go(func() {
						for time.Now().Before(end) {
							getThings(t, f.members[i%2])
							time.Sleep(time.Millisecond)
						}
					})
				}
				wg.Wait()
				counts := f.provider.Counts()
				if n := counts.Refused(); n > c.most || counts.Admitted < c.least {
					t.Errorf("%d requests were refused, %d admitted; want at most %d and at least %d", n, counts.Admitted, c.most, c.least)
				}
			})
		})
	}
}

func getThings(t *testing.T, client *http.Client) {
	resp, err := client.Get("https://api.example.com/v1/things")
	if err != nil {
		t.Error(err)
		return
	}
	_ = resp.Body.Close()
}
