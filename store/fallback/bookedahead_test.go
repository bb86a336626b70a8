package fallback_test

import (
	"context"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// Slots that were booked ahead stay booked: after a fault, Redis grants the next slot
// behind all of them.
func TestSlotsBookedAheadOutliveAFault(t *testing.T) {
	t.Parallel()
	const slots, rate = 120, 20
	for _, fault := range []struct {
		name  string
		cause func(f *fleet)
	}{
		{"killed, empty after", func(f *fleet) { f.vanish() }},
		{"refused", func(f *fleet) {
			f.proxy.Set(redistest.Refuse)
			f.notice()
			time.Sleep(300 * time.Millisecond)
			f.proxy.Set(f.well)
			f.recover()
		}},
		{"quiet restart", func(f *fleet) { f.restartQuietly() }},
		{"quiet flush", func(f *fleet) { f.admin.FlushAll(context.Background()) }},
	} {
		if fault.name == "refused" && !long.Enabled {
			continue
		}
		for _, next := range []string{"the process itself", "another that booked", "one that starts then"} {
			// After a quiet loss, Redis learns of lost slots from calls alone.
			if next == "one that starts then" && (fault.name == "quiet restart" || fault.name == "quiet flush") {
				continue
			}
			t.Run(fault.name+", next asks "+next, func(t *testing.T) {
				t.Parallel()
				calmly(t, func(t testing.TB, _ *stalls) {
					l := weir.PerSecond(rate).WithBurst(1)
					f := newFleet(t, 2, 0, fallback.Config{Replicas: 2, Budget: patient, Probe: 200 * time.Millisecond})
					f.recover()
					both := f.limiters("spaced", store.Limit(l))
					var last time.Time
					for i := range slots {
						asked := time.Now() // not the time of the answer, which may come late
						r, err := both[i%2].Reserve(context.Background(), "k")
						if err != nil {
							t.Fatal(err)
						}
						last = asked.Add(r.Delay())
					}
					booked := time.Until(last)
					fault.cause(f)
					asks := both[1] // The last slot is its own.
					switch next {
					case "another that booked":
						asks = both[0]
					case "one that starts then":
						time.Sleep(time.Second) // for restores in the background
						asks = limiterOver(t, f.direct(), "spaced", store.Limit(l))
					}
					r, err := asks.Reserve(context.Background(), "k")
					if err != nil {
						t.Fatal(err)
					}
					slot := time.Now().Add(r.Delay())
					// The other process knows all slots but the last.
					want := last.Add(time.Second / rate)
					if next == "another that booked" {
						want = last
					}
					t.Logf("%d slots until %v; after the fault the next is at %v", slots, booked.Round(time.Millisecond), (booked + slot.Sub(last)).Round(time.Millisecond))
					if early := want.Sub(slot); early > 20*time.Millisecond {
						t.Errorf("%d slots were booked until %v; the next that Redis grants is %v before the last of them", slots, booked.Round(time.Millisecond), last.Sub(slot).Round(time.Millisecond))
					}
					if r.Decision().Degraded {
						t.Error("decided without Redis after its return")
					}
				})
			})
		}
	}
}
