package combine_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store/redisstore/internal/combine"
)

// TestDelay checks the mean time of calls with random arrivals, in round trips. Load is
// the mean number of calls under way without a queue.
func TestDelay(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ load, max float64 }{{1, 1.05}, {4, 1.2}, {8, 1.2}, {16, 1.25}, {40, 1.4}} {
		got := delay(t, combine.DefaultRoundTrips, tc.load)
		if got > tc.max {
			t.Errorf("load %v: %.2f round trips, want at most %v", tc.load, got, tc.max)
		}
		if testing.Verbose() {
			for _, trips := range []int{1, 2, 3, 4, 6, 8} {
				t.Logf("load %v, %d round trips: %.2f", tc.load, trips, delay(t, trips, tc.load))
			}
		}
	}
}

// delay returns the mean time of a call in round trips.
func delay(t *testing.T, trips int, load float64) (mean float64) {
	const calls, trip = 4000, time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		q := combine.New(combine.Config[int, call]{RoundTrips: trips, Send: func(context.Context, []combine.Group[int, call]) error {
			time.Sleep(trip)
			return nil
		}})
		rng := rand.New(rand.NewPCG(1, 2))
		times := make(chan time.Duration, calls)
		for key := range calls {
			time.Sleep(time.Duration(rng.ExpFloat64() * float64(trip) / load))
			go func() {
				begin := time.Now()
				if _, _, err := q.Do(context.Background(), key, call{}); err != nil {
					t.Error(err)
				}
				times <- time.Since(begin)
			}()
		}
		for range calls {
			mean += float64(<-times) / float64(trip) / calls
		}
	})
	return mean
}
