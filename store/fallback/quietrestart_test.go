package fallback_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// quietLosses make Redis lose keys while no call is under way. keys are their names in
// Redis.
var quietLosses = []struct {
	name string
	lose func(t testing.TB, f *fleet, keys ...string)
}{
	{"restart", func(_ testing.TB, f *fleet, _ ...string) { f.restartQuietly() }},
	{"flush", func(t testing.TB, f *fleet, _ ...string) {
		if err := f.admin.FlushAll(context.Background()).Err(); err != nil {
			t.Fatal(err)
		}
	}},
	{"deleted", func(t testing.TB, f *fleet, keys ...string) {
		if n, err := f.admin.Del(context.Background(), keys...).Result(); err != nil || n == 0 {
			t.Fatalf("deleted %d keys of %v: %v", n, keys, err)
		}
	}},
	{"evicted by allkeys-lru", evict},
}

// evict fills Redis with other keys until it has evicted the given ones.
func evict(t testing.TB, f *fleet, keys ...string) {
	ctx := context.Background()
	for name, value := range map[string]string{"maxmemory-policy": "allkeys-lru", "maxmemory-samples": "10", "maxmemory": "3mb"} {
		if err := f.admin.ConfigSet(ctx, name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; ; i++ {
		if i == 500 {
			t.Fatalf("Redis does not evict all of %v", keys)
		}
		pipe := f.admin.Pipeline()
		for k := range 500 {
			pipe.Set(ctx, fmt.Sprintf("ballast:%d:%d", i, k), strings.Repeat("x", 100), time.Hour)
		}
		if _, err := pipe.Exec(ctx); err != nil {
			t.Fatal(err)
		}
		if n, err := f.admin.Exists(ctx, keys...).Result(); err != nil {
			t.Fatal(err)
		} else if n == 0 {
			break
		}
	}
	// After this, Redis keeps the keys and their logs.
	if err := f.admin.ConfigSet(ctx, "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
}

// stateKeys returns the names in Redis of one key under several limiters.
func stateKeys(limits []store.Limit) (keys []string) {
	for _, l := range limits {
		keys = append(keys, "weir:{"+l.Algorithm.String()+":k}", "weir:{"+l.Algorithm.String()+":k}:log")
	}
	return keys
}

// A key is exhausted, and Redis loses it while no process calls. The next calls get no
// second burst, as every living process knows of the units.
func TestQuietLossHasNoSecondBurst(t *testing.T) {
	t.Parallel()
	const processes, rate = 4, 100
	for _, loss := range quietLosses {
		t.Run(loss.name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			period := undisturbed(24 * time.Hour)
			limits := every(rate, period)
			f := newFleet(t, processes, 0, fallback.Config{Budget: patient})
			f.recover()
			local := 0
			spend := func(l store.Limit) (admitted int64) {
				for range rate/processes + 5 {
					for _, one := range f.limiters(l.Algorithm.String(), l) {
						d := allow(t, one, "k")
						if d.Allowed {
							admitted++
						}
						if d.Degraded {
							local++
						}
					}
				}
				return admitted
			}
			for _, l := range limits {
				if n := spend(l); n != rate {
					t.Fatalf("%v: %d admitted before the loss, want %d", l.Algorithm, n, rate)
				}
			}
			// A remembered refusal lasts for a second.
			time.Sleep(1100 * time.Millisecond)
			loss.lose(t, f, stateKeys(limits)...)
			opened := f.opened.Load()
			for _, l := range limits {
				n := spend(l)
				t.Logf("%v: %d admitted before, %d after", l.Algorithm, rate, n)
				if n > max(dripped(l, start)-1, 0) {
					t.Errorf("%v: %d admitted, then %d more of %d a day after the loss, want none; %d calls decided without Redis so far", l.Algorithm, rate, n, rate, local)
				}
				if wait := f.blocked(l.Algorithm.String(), "k", l); wait > longestBlock(l) {
					t.Errorf("%v: blocked for %v after the loss, the window is %v", l.Algorithm, wait, period)
				}
			}
			if n := f.opened.Load() - opened; n > 0 {
				t.Logf("the loss was not quiet: breakers opened %d times", n)
			}
		})
	}
}

// Processes know of different amounts. Redis takes the maximum, in any order.
func TestQuietLossTakesTheMaximum(t *testing.T) {
	t.Parallel()
	const rate = 100
	for _, first := range []string{"the one that knows more", "the one that knows less"} {
		for _, loss := range quietLosses[1:3] {
			t.Run(loss.name+", "+first, func(t *testing.T) {
				t.Parallel()
				start := time.Now()
				limits := every(rate, undisturbed(24*time.Hour))
				f := newFleet(t, 2, 0, fallback.Config{Budget: patient})
				f.recover()
				for _, l := range limits {
					both := f.limiters(l.Algorithm.String(), l)
					for i := range 60 {
						allow(t, both[i/20%2], "k") // process 0 knows of 60 units, process 1 of 40
					}
				}
				loss.lose(t, f, stateKeys(limits)...)
				for _, l := range limits {
					both := f.limiters(l.Algorithm.String(), l)
					if first != "the one that knows more" {
						both[0], both[1] = both[1], both[0]
					}
					allow(t, both[0], "k")
					allow(t, both[1], "k")
					drip := dripped(l, start)
					if l.Algorithm == store.SlidingCounter {
						drip = 1
					}
					if used := f.used(l.Algorithm.String(), "k", l); used > 62 || used < 62-drip {
						t.Errorf("%v: Redis counts %d as used, want 62: 60 before the loss, 2 after it", l.Algorithm, used)
					}
				}
			})
		}
	}
}

// A process that knows less asks first: it gets the units that it does not know of, and no
// process gets more once the other one has called.
func TestQuietLossAdmitsTheGap(t *testing.T) {
	t.Parallel()
	const rate, gap = 100, 90
	start := time.Now()
	limits := every(rate, undisturbed(24*time.Hour))
	f := newFleet(t, 2, 0, fallback.Config{Budget: patient})
	f.recover()
	spend := func(l store.Limit, process int) (admitted int64) {
		one := f.limiters(l.Algorithm.String(), l)[process]
		for allow(t, one, "k").Allowed {
			admitted++
		}
		return admitted
	}
	for _, l := range limits {
		for range rate - gap {
			allow(t, f.limiters(l.Algorithm.String(), l)[0], "k")
		}
		spend(l, 1)
	}
	quietLosses[1].lose(t, f)
	for _, l := range limits {
		less, more := spend(l, 0), spend(l, 1)
		if less > gap+dripped(l, start) || more > dripped(l, start) {
			t.Errorf("%v: after the loss %d and %d admitted, want %d at most, and none", l.Algorithm, less, more, gap)
		}
	}
}

// A Reset of a key is no loss, also for processes that know of its units.
func TestResetIsNoLoss(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, 0, fallback.Config{Budget: patient})
	f.recover()
	for _, l := range every(100, undisturbed(24*time.Hour)) {
		all := f.limiters(l.Algorithm.String(), l)
		for i := range 90 {
			allow(t, all[i%3], "k")
		}
		if err := all[0].Reset(context.Background(), "k"); err != nil {
			t.Fatal(err)
		}
		f.proxy.Set(redistest.CutMidReply(0))
		f.until("no call fails", func(_ *fallback.Store, d store.Decision) bool { return d.Degraded })
		f.proxy.Set(f.well)
		f.recover()
		for i := range 3 {
			allow(t, all[i], "k")
		}
		if used := f.used(l.Algorithm.String(), "k", l); used != 3 {
			t.Errorf("%v: Redis counts %d as used, want 3: units that were reset count again", l.Algorithm, used)
		}
	}
}
