package fallback_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir/internal/long"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// A lone call allocates the goroutine that asks Redis. With so long a budget few calls share
// its timer.
func TestFewMoreAllocations(t *testing.T) {
	if long.Race {
		t.Skip("the race detector allocates")
	}
	const maxMore = 4
	f := newFleet(t, 1, 0, fallback.Config{Budget: patient})
	f.recover()
	for _, l := range every(1_000_000_000, 24*time.Hour) {
		req := charge(l.Algorithm.String(), 1, l)
		// Connections, pools and timers of other goroutines count too, now and then. On a
		// busy machine only a short run is free of them.
		count := func(s store.Store) float64 {
			least := 1e9
			for range 50 {
				least = min(least, testing.AllocsPerRun(20, func() { take(t, s, req) }))
			}
			return least
		}
		alone, behind := count(f.direct()), count(f.stores[0])
		t.Logf("%v: %v allocations alone, %v behind fallback", l.Algorithm, alone, behind)
		if behind > alone+maxMore {
			t.Errorf("%v: %v allocations behind fallback, %v over Redis alone, want at most %d more", l.Algorithm, behind, alone, maxMore)
		}
	}
}

// asks returns the decisions per second of the callers over a time, and this process's
// CPU time per decision in microseconds.
func asks(t testing.TB, s store.Store, callers, keys int, d time.Duration) (rate, cpu float64) {
	var n atomic.Int64
	var wg sync.WaitGroup
	limit := store.Per(1_000_000_000, time.Hour)
	texts := make([]string, keys)
	for i := range texts {
		texts[i] = "k" + strconv.Itoa(i)
	}
	before, start := cpuTime(), time.Now()
	for c := range callers {
		wg.Go(func() {
			charges := make([]store.Charge, 1)
			for i := c; time.Since(start) < d; i += callers {
				charges[0] = store.Charge{Key: texts[i*31%keys], Limit: limit, Cost: 1}
				if got, err := s.Take(context.Background(), store.Request{Charges: charges, Checked: true}); err != nil || got.Degraded {
					t.Errorf("%+v, %v", got, err)
					return
				}
				n.Add(1)
			}
		})
	}
	wg.Wait()
	return float64(n.Load()) / time.Since(start).Seconds(), float64((cpuTime() - before).Microseconds()) / float64(n.Load())
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}

// TestMeasureOverhead prints throughput and client CPU behind fallback, and of redisstore
// alone. The two take turns, so that both meet the same machine.
func TestMeasureOverhead(t *testing.T) {
	if os.Getenv("WEIR_MEASURE") != "1" {
		t.Skip("WEIR_MEASURE=1 measures for about two minutes")
	}
	f := fleetOver(t, redistest.Start(t), 0, 0, fallback.Config{})
	primary := f.direct()
	s := f.over(f.admin, fallback.Config{Budget: patient})
	fmt.Println("| callers | keys | alone, per second | behind / alone | CPU alone, µs | CPU behind / alone |")
	for _, callers := range []int{1, 8, 64, 256} {
		for _, keys := range []int{1, 10_000} {
			var alone, ratios, cpus, cpuRatios []float64
			for range 15 {
				a, ca := asks(t, primary, callers, keys, 250*time.Millisecond)
				b, cb := asks(t, s, callers, keys, 250*time.Millisecond)
				alone, ratios = append(alone, a), append(ratios, b/a)
				cpus, cpuRatios = append(cpus, ca), append(cpuRatios, cb/ca)
			}
			fmt.Printf("| %d | %d | %.0f | %.2f | %.1f | %.2f |\n", callers, keys, median(alone), median(ratios), median(cpus), median(cpuRatios))
		}
	}
}
