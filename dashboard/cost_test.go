package dashboard

import (
	"flag"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
)

var costSeconds = flag.Int("cost", 3, "how many seconds to measure the cost of an open page for")

// TestCostOnRedis measures an open page's share of a core of Redis. There are 10,000
// keys, 1,000 of them with waiting calls.
func TestCostOnRedis(t *testing.T) {
	t.Parallel()
	f := newFleet(t, Config{})
	fill(t, newLimiter(t, f.client, "slow", weir.PerHour(1), nil))
	stream, _ := f.dash.hub.join()
	defer f.dash.hub.leave(stream)
	f.await(t, "all keys", func(got *frame) bool { return got.Redis.Keys == 10_000 && got.Redis.WaitingKeys == 1000 })
	for len(stream) > 0 {
		<-stream
	}
	used, began := cpu(t, f), time.Now()
	for range *costSeconds {
		<-stream
	}
	share := (cpu(t, f) - used) / time.Since(began).Seconds()
	t.Logf("an open page takes %.2f %% of a core of Redis", share*100)
	// 1 % on a machine without other work.
	if share > .03 {
		t.Error("that is too much")
	}
}

// fill makes 10,000 keys, 1,000 of them with a waiting call.
func fill(t *testing.T, l *weir.Limiter) {
	t.Helper()
	var all sync.WaitGroup
	keys := ids(10_000)
	for part := range 50 {
		all.Go(func() {
			for i := part; i < len(keys); i += 50 {
				if _, err := l.Allow(t.Context(), keys[i]); err != nil {
					t.Error(err)
					return
				}
				if i/50%10 == 0 {
					book(t, l, keys[i], 1)
				}
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// cpu returns the seconds of a core that a server has used.
func cpu(t *testing.T, f *fleet) (seconds float64) {
	info := f.server.Info("cpu")
	for _, name := range []string{"used_cpu_sys", "used_cpu_user"} {
		n, err := strconv.ParseFloat(info[name], 64)
		if err != nil {
			t.Fatal(err)
		}
		seconds += n
	}
	return seconds
}
