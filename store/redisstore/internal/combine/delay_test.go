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
	for _, tc := range []struct {
		trip           time.Duration
		load, max, hot float64
	}{
		{60 * time.Microsecond, 1, 1.05, 1.4},
		{200 * time.Microsecond, 1, 1.05, 1.05},
		{200 * time.Microsecond, 4, 1.2, 1.45},
		{200 * time.Microsecond, 40, 1.4, 1.6},
		{time.Millisecond, 1, 1.01, 1.05},
		{time.Millisecond, 10, 1.02, 1.1},
		{time.Millisecond, 40, 1.1, 1.15},
		{4 * time.Millisecond, 40, 1.02, 1.05},
		{16 * time.Millisecond, 40, 1.02, 1.05},
		{16 * time.Millisecond, 160, 1.03, 1.05},
	} {
		many, one := delay(t, tc.trip, 0, tc.load, false), delay(t, tc.trip, 0, tc.load, true)
		if many > tc.max || one > tc.hot {
			t.Errorf("%v, load %v: %.2f round trips, want at most %v; with one key %.2f, want at most %v", tc.trip, tc.load, many, tc.max, one, tc.hot)
		}
	}
	if testing.Verbose() {
		for _, load := range []float64{1, 4, 8, 16, 40} {
			for _, trips := range []int{1, 2, 3, 4, 6, 8, 16, 32, 64} {
				t.Logf("load %v, %d round trips: %.2f, with one key %.2f", load, trips, delay(t, time.Millisecond, trips, load, false), delay(t, time.Millisecond, trips, load, true))
			}
		}
	}
}

// delay returns the mean time of a call in round trips, for calls of different keys or
// of one key.
func delay(t *testing.T, trip time.Duration, trips int, load float64, one bool) (mean float64) {
	const calls = 4000
	synctest.Test(t, func(t *testing.T) {
		q := combine.New(combine.Config[int, call]{RoundTrips: trips, MaxRoundTrips: 192, Send: func(context.Context, []combine.Group[int, call]) error {
			time.Sleep(trip)
			return nil
		}})
		rng := rand.New(rand.NewPCG(1, 2))
		times := make(chan time.Duration, calls)
		for key := range calls {
			time.Sleep(time.Duration(rng.ExpFloat64() * float64(trip) / load))
			go func() {
				begin := time.Now()
				if one {
					key = 0
				}
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
