package fallback_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// corrections give back 990 of 1000 units, or all.
var corrections = []struct {
	name string
	left int64 // units that remain used
	make func(r *weir.Reservation, other *weir.Limiter) error
}{
	{"settled at 10", 10, func(r *weir.Reservation, _ *weir.Limiter) error { return r.Settle(context.Background(), 10) }},
	{"cancelled", 0, func(r *weir.Reservation, _ *weir.Limiter) error { return r.Cancel(context.Background()) }},
	{"reset by another process", 0, func(_ *weir.Reservation, other *weir.Limiter) error {
		return other.Reset(context.Background(), "k")
	}},
}

// blips are faults that spare Redis' memory.
var blips = []struct {
	name  string
	cause func(f *fleet)
}{
	{"a call of another key is cut", func(f *fleet) {
		f.proxy.Set(redistest.CutMidReply(1))
		f.until("no call fails", func(_ *fallback.Store, d store.Decision) bool { return d.Degraded })
		f.proxy.Set(f.well)
	}},
	{"an outage", func(f *fleet) {
		f.proxy.Set(redistest.Refuse)
		f.notice()
		f.proxy.Set(f.well)
	}},
	{"a pause of 100 ms", func(f *fleet) {
		f.server.Stop()
		time.Sleep(100 * time.Millisecond)
		f.server.Cont()
	}},
}

// Units that were given back are not charged again after a failure of other keys.
func TestGivenBackIsNotChargedAgain(t *testing.T) {
	t.Parallel()
	for _, blip := range blips {
		t.Run(blip.name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 2, 0, fallback.Config{Budget: patient, Probe: 100 * time.Millisecond})
			f.recover()
			limits := every(1000, undisturbed(24*time.Hour))
			name := func(l store.Limit, c string) string { return fmt.Sprint(l.Algorithm, " ", c) }
			for _, l := range limits {
				for _, c := range corrections {
					both := f.limiters(name(l, c.name), l)
					r, err := both[0].ReserveN(context.Background(), "k", 1000)
					if err != nil {
						t.Fatal(err)
					}
					if err := c.make(r, both[1]); err != nil {
						t.Fatalf("%v, %s: %v", l.Algorithm, c.name, err)
					}
				}
			}
			blip.cause(f)
			f.recover()
			for _, l := range limits {
				for _, c := range corrections {
					d := allow(t, f.limiters(name(l, c.name), l)[0], "k")
					used := f.used(name(l, c.name), "k", l)
					if want := c.left + 1; !d.Allowed || d.Degraded || used != want {
						t.Errorf("%v, 1000 units %s, then %s: the next call is allowed: %v, degraded: %v; Redis counts %d as used, want %d",
							l.Algorithm, c.name, blip.name, d.Allowed, d.Degraded, used, want)
					}
				}
			}
		})
	}
}
