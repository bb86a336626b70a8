package dashboard

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/redis/go-redis/v9"
)

// TestCostOnRedis measures the share of a core that a page takes of Redis, with 10,000
// keys, of which 1,000 have calls that wait.
func TestCostOnRedis(t *testing.T) {
	f := newFleet(t, Config{})
	l := newLimiter(t, f.client, "slow", weir.PerHour(1), nil)
	var all sync.WaitGroup
	for part := range 20 {
		all.Go(func() {
			for i, key := range ids(10_000) {
				if i%20 == part {
					book(t, l, key, 1+(i/20)%10/9)
				}
			}
		})
	}
	all.Wait()
	stream, _ := f.dash.hub.join()
	defer f.dash.hub.leave(stream)
	for range 2 {
		<-stream.messages
	}
	f.client.ConfigResetStat(t.Context())
	from, began, own := cpu(t, f.client), time.Now(), ownCPU()
	for range 5 {
		<-stream.messages
	}
	took := time.Since(began).Seconds()
	t.Logf("Redis: %.2f %% of a core, this process: %.2f %%", (cpu(t, f.client)-from)/took*100, (ownCPU()-own)/took*100)
	t.Log(f.client.Info(t.Context(), "commandstats").Val())
	got := f.state(t)
	t.Logf("%+v", *got.Redis)
}

// cpu returns the seconds of a core that a server has used.
func cpu(t *testing.T, c *redis.Client) (seconds float64) {
	for line := range strings.Lines(c.Info(t.Context(), "cpu").Val()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_sys" || name == "used_cpu_user" {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			seconds += n
		}
	}
	return seconds
}
