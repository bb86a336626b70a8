package combine_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store/redisstore/internal/combine"
)

// TestManyCalls checks that callers without pauses share round trips, the more the more of them
// there are, and how long their calls take.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		trip    time.Duration
		callers int
		batch   float64 // the least mean number of calls in a round trip
		took    float64 // the longest mean time of a call, in round trips
	}{
		"few calls on a slow network leave at once": {4 * time.Millisecond, 60, 1, 1.01},
		"a crowd on a slow network":                 {4 * time.Millisecond, 256, 4.5, 1.3},
		"few calls leave at once":                   {time.Millisecond, 16, 1, 1.01},
		"a crowd":                                   {time.Millisecond, 256, 30, 1.3},
		"a crowd on loopback":                       {60 * time.Microsecond, 256, 60, 1.3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const each = 200
				var trips atomic.Int64
				q := combine.New(combine.Config[int, call]{MaxRoundTrips: 192, Send: func(context.Context, []combine.Group[int, call]) error {
					trips.Add(1)
					time.Sleep(tc.trip)
					return nil
				}})
				began := time.Now()
				var callers sync.WaitGroup
				for caller := range tc.callers {
					callers.Go(func() {
						time.Sleep(tc.trip * time.Duration(caller) / time.Duration(tc.callers))
						for i := range each {
							if _, _, err := q.Do(t.Context(), caller*each+i, call{}); err != nil {
								t.Error(err)
							}
						}
					})
				}
				callers.Wait()
				batch := float64(tc.callers*each) / float64(trips.Load())
				took := float64(time.Since(began)) / float64(tc.trip) / each
				t.Logf("%.1f calls in a round trip, %.2f round trips a call", batch, took)
				if batch < tc.batch || took > tc.took {
					t.Errorf("%.1f calls in a round trip, want at least %v; %.2f round trips a call, want at most %v", batch, tc.batch, took, tc.took)
				}
			})
		})
	}
}
