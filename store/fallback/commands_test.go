package fallback_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// sum adds up the calls of all commands, and of those that carry scripts.
func sum(calls map[string]int) (all, scripts int) {
	for name, n := range calls {
		all += n
		if name == "eval" || name == "evalsha" {
			scripts += n
		}
	}
	return all, scripts
}

// round asks once for each of 5000 keys, and returns the number of commands that Redis
// ran.
func (f *fleet) round(t testing.TB, limit store.Limit) (all, scripts, local int) {
	t.Helper()
	var next, degraded atomic.Int64
	during := f.server.CommandsDuring(func() {
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				for n := next.Add(1); n <= 5000; n = next.Add(1) {
					if take(t, f.stores[0], charge(fmt.Sprint("k", n), 1, limit)).Degraded {
						degraded.Add(1)
					}
				}
			})
		}
		wg.Wait()
	})
	all, scripts = sum(during)
	return all, scripts, int(degraded.Load())
}

// least returns the round of three with the fewest scripts: the machine decides how many
// calls share a round trip.
func (f *fleet) least(t testing.TB, limit store.Limit) (all, scripts int) {
	t.Helper()
	for i := range 3 {
		a, s, local := f.round(t, limit)
		if local > 0 {
			t.Logf("%d calls decided locally", local)
		}
		if i == 0 || s < scripts {
			all, scripts = a, s
		}
	}
	return all, scripts
}

// After one failed call, Redis runs no more commands than before for 5000 other keys.
func TestOneFailedCallCostsNoCommands(t *testing.T) {
	t.Parallel()
	for _, fault := range []struct {
		name  string
		cause func(f *fleet)
	}{
		{"a call is cut", func(f *fleet) {
			f.proxy.Set(redistest.CutMidReply(0))
			f.until("no call fails", func(_ *fallback.Store, d store.Decision) bool { return d.Degraded })
			f.proxy.Set(f.well)
		}},
		{"a key holds something else", func(f *fleet) {
			if err := f.admin.LPush(context.Background(), "weir:{:foreign}", "x").Err(); err != nil {
				t.Fatal(err)
			}
			take(t, f.stores[0], charge("foreign", 1, store.Per(10, time.Hour)))
		}},
		{"an outage of other keys", func(f *fleet) {
			f.proxy.Set(redistest.Refuse)
			f.notice()
			f.proxy.Set(f.well)
		}},
	} {
		if fault.name == "a key holds something else" && !long.Enabled {
			continue
		}
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			limit := store.Per(10_000, 24*time.Hour)
			f := newFleet(t, 1, 0, fallback.Config{Budget: patient, Probe: 200 * time.Millisecond})
			f.recover()
			f.round(t, limit)
			all, scripts := f.least(t, limit)
			fault.cause(f)
			f.recover()
			first, firstScripts, _ := f.round(t, limit)
			t.Logf("5000 calls: %d commands, %d of them scripts, before; %d and %d in the first round after", all, scripts, first, firstScripts)
			if float64(first) > 1.05*float64(all) {
				t.Errorf("%s: Redis runs %d commands for 5000 other keys, %d before: %.2f times as many, want at most 1.05", fault.name, first, all, float64(first)/float64(all))
			}
			// The machine decides how many calls share a script, by a factor of two here.
			if firstScripts > 2*scripts+50 {
				t.Errorf("%s: Redis gets %d scripts for 5000 other keys, %d before: %.1f times as many", fault.name, firstScripts, scripts, float64(firstScripts)/float64(scripts))
			}
		})
	}
}
