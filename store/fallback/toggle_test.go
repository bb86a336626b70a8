package fallback_test

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// A Redis that comes and goes every 300 ms multiplies no limit. The breaker changes no
// more often than Redis does.
func TestToggledRedis(t *testing.T) {
	t.Parallel()
	total := long.Or(5*time.Second, 2*time.Second)
	if os.Getenv("WEIR_MEASURE") == "1" {
		total = 30 * time.Second
	}
	for name, fault := range map[string]redistest.Fault{
		"refused": redistest.Refuse, "black hole": redistest.Blackhole, "cut": redistest.CutMidReply(3),
	} {
		for _, probe := range []time.Duration{100 * time.Millisecond, time.Second} {
			t.Run(fmt.Sprint(name, " probe ", probe), func(t *testing.T) {
				t.Parallel()
				server := redistest.Start(t)
				proxy := redistest.NewProxy(t, server.Addr)
				var mu sync.Mutex
				changes := 0
				s := behind(t, server.Client(configure(proxy.Addr, false)), fallback.Config{
					Probe: probe,
					OnChange: func(fallback.Change) {
						mu.Lock()
						defer mu.Unlock()
						changes++
					},
				})
				hourly, fast := store.Per(200, time.Hour), store.Per(100, time.Second).WithBurst(20)
				var ofHourly, ofFast int64
				start := time.Now()
				var wg sync.WaitGroup
				wg.Go(func() {
					for time.Since(start) < total {
						if take(t, s, charge("hourly", 1, hourly)).Allowed {
							ofHourly++
						}
						if take(t, s, charge("fast", 1, fast)).Allowed {
							ofFast++
						}
						time.Sleep(2 * time.Millisecond)
					}
				})
				outages := int64(0)
				for time.Since(start) < total {
					time.Sleep(300 * time.Millisecond)
					proxy.Set(fault)
					outages++
					time.Sleep(300 * time.Millisecond)
					proxy.Set(redistest.Pass)
				}
				wg.Wait()
				took := time.Since(start)
				mu.Lock()
				defer mu.Unlock()
				// A unit of an hour's 200 returns every 18 s.
				t.Logf("%d outages in %v: %d of 200 an hour, %d of 100 a second and 20 at once, %d changes", outages, took, ofHourly, ofFast, changes)
				if most := 200 + int64(took/(18*time.Second)); ofHourly > most {
					t.Errorf("%d admitted of 200 an hour", ofHourly)
				}
				if most := int64(took.Seconds()*100) + 20 + outages*20; ofFast > most {
					t.Errorf("%d admitted of 100 a second, at most %d are right", ofFast, most)
				}
				if most := 2 * int(outages+1); changes > most {
					t.Errorf("%d changes in %v, at most %d are right", changes, took, most)
				}
			})
		}
	}
}
