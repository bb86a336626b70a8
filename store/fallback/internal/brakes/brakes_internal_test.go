package brakes

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/internal/keys"
	"github.com/goweir/weir/store"
)

// Brakes set while the primary is away add up as they would there.
func TestBrakesAreKeptTogether(t *testing.T) {
	t.Parallel()
	const s = time.Second
	pause := store.Brake{Pause: 10 * s, Slack: s}
	tell := store.Brake{Tell: true, Gap: s, GapFor: 10 * s}
	cut := store.Brake{Cut: store.Cut{Unit: s, Recovery: s, Since: 7}}
	lift := store.Brake{Lift: true}
	for _, test := range []struct {
		name   string
		brakes []store.Brake // a second apart
		want   store.Brake
		lifted bool
	}{
		{"one", []store.Brake{pause}, pause, false},
		{"a shorter pause", []store.Brake{pause, {Pause: s}}, store.Brake{Pause: 9 * s}, false},
		{"a longer pause", []store.Brake{{Pause: s}, pause}, pause, false},
		{"of every kind", []store.Brake{tell, cut, pause}, store.Brake{Pause: 10 * s, Slack: s, Tell: true, Gap: s, GapFor: 8 * s, Cut: cut.Cut}, false},
		{"told again", []store.Brake{tell, {Tell: true}}, store.Brake{Tell: true}, false},
		{"lifted", []store.Brake{tell, lift}, lift, true},
		{"lifted before", []store.Brake{tell, lift, pause, cut}, store.Brake{Pause: 9 * s, Cut: cut.Cut}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var p Pending
				charges := []store.Charge{{Key: "key", Limit: store.Per(1, time.Second)}}
				for i, b := range test.brakes {
					if i > 0 {
						time.Sleep(s)
					}
					p.Keep(charges, b)
				}
				got := p.list[keys.Key{Key: "key"}]
				if got.brake != test.want || got.lifted != test.lifted || len(p.list) != 1 {
					t.Errorf("kept %+v, lifted %v; want %+v, %v", got.brake, got.lifted, test.want, test.lifted)
				}
			})
		})
	}
}

// A brake after a lift is delivered behind that lift.
func TestLiftComesFirst(t *testing.T) {
	t.Parallel()
	var p Pending
	charges := []store.Charge{{Key: "key", Limit: store.Per(1, time.Second)}}
	cut := store.Brake{Cut: store.Cut{Unit: time.Second, Recovery: time.Second}}
	p.Keep(charges, store.Brake{Lift: true})
	p.Keep(charges, cut)
	var got []store.Brake
	p.Deliver(func(_ []store.Charge, b store.Brake) error {
		got = append(got, b)
		return nil
	})
	if want := []store.Brake{{Lift: true}, cut}; !slices.Equal(got, want) {
		t.Errorf("delivered %+v, want %+v", got, want)
	}
}
