package fallback

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
)

// What is set while the primary is away adds up as it would there.
func TestBrakesAreKeptTogether(t *testing.T) {
	t.Parallel()
	const s = time.Second
	pause := weir.Brake{Pause: 10 * s, Slack: s}
	tell := weir.Brake{Tell: true, Gap: s, GapFor: 10 * s}
	cut := weir.Brake{Cut: weir.Cut{Unit: s, Recovery: s, Since: 7}}
	lift := weir.Brake{Lift: true}
	for _, test := range []struct {
		name   string
		brakes []weir.Brake // a second apart
		want   weir.Brake
		lifted bool
	}{
		{"one", []weir.Brake{pause}, pause, false},
		{"a shorter pause", []weir.Brake{pause, {Pause: s}}, weir.Brake{Pause: 9 * s}, false},
		{"a longer pause", []weir.Brake{{Pause: s}, pause}, pause, false},
		{"of every kind", []weir.Brake{tell, cut, pause}, weir.Brake{Pause: 10 * s, Slack: s, Tell: true, Gap: s, GapFor: 8 * s, Cut: cut.Cut}, false},
		{"told again", []weir.Brake{tell, {Tell: true}}, weir.Brake{Tell: true}, false},
		{"lifted", []weir.Brake{tell, lift}, lift, true},
		{"lifted before", []weir.Brake{tell, lift, pause, cut}, weir.Brake{Pause: 9 * s, Cut: cut.Cut}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var k brakes
				charges := []weir.Charge{{Key: "key", Limit: weir.PerSecond(1)}}
				for i, b := range test.brakes {
					if i > 0 {
						time.Sleep(s)
					}
					k.keep(charges, b)
				}
				got := k.pending[id{"", "key"}]
				if got.brake != test.want || got.lifted != test.lifted || len(k.pending) != 1 {
					t.Errorf("kept %+v, lifted %v; want %+v, %v", got.brake, got.lifted, test.want, test.lifted)
				}
			})
		})
	}
}
