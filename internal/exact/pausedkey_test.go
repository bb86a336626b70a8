package exact

import (
	"testing"
	"time"

	"github.com/goweir/weir/store"
)

// TestPausedKey tells stories of a key that a brake holds.
func TestPausedKey(t *testing.T) {
	t.Parallel()
	const sec = int64(1_000_000)
	pause := func(k *Key, l store.Limit, d time.Duration, now int64) *Move {
		return k.Brake(charges(0, l).Charges, &store.Brake{Pause: d}, now)
	}
	for name, tell := range map[string]func(t *testing.T){
		"units age while nothing is ahead, also after the only booking was undone": func(t *testing.T) {
			for _, a := range []store.Algorithm{store.GCRA, store.SlidingWindow} {
				var k Key
				l := store.Per(10, time.Minute).By(a)
				take(&k, charges(10, l), begun, 0)
				pause(&k, l, 2*time.Minute, begun)
				_, r := take(&k, waiting(1, time.Hour, l), begun+1, 1)
				k.Settle(r, begun+2, func(int) int64 { return 0 })
				if d, _ := take(&k, waiting(10, time.Hour, l), begun+3, 1); d.Delay != 2*time.Minute-3*time.Microsecond {
					t.Errorf("%v: 10 come in %v, want them at the end of the pause", a, d.Delay)
				}
			}
		},
		"a fixed window that is open stays where it is, brake after brake": func(t *testing.T) {
			var k Key
			l := store.Per(3, time.Minute).By(store.FixedWindow)
			take(&k, charges(1, l), begun, 0)
			pause(&k, l, 5*time.Second, begun)
			_, r := take(&k, waiting(2, time.Hour, l), begun+1, 1)
			for _, test := range []struct {
				pause  time.Duration
				counts bool
			}{{30 * time.Second, true}, {40 * time.Second, true}, {70 * time.Second, false}} {
				now := k.Clock.At + 2
				m := pause(&k, l, test.pause, now)
				if counts := m.Counts(r); counts != test.counts {
					t.Errorf("a pause of %v from %d on: the window counts the call: %v", test.pause, now-begun, counts)
				}
			}
		},
		"a fixed window ahead moves with its slots, brake after brake": func(t *testing.T) {
			var k Key
			l := store.Per(3, time.Minute).By(store.FixedWindow)
			take(&k, charges(3, l), begun, 0)
			_, r := take(&k, waiting(2, time.Hour, l), begun+1, 1)
			for i := range 4 {
				m := pause(&k, l, time.Duration(i+2)*time.Minute, begun+2+int64(i)*50*sec)
				if !m.Counts(r) {
					t.Errorf("brake %d: the window does not count the call", i)
				}
			}
		},
		"a fixed window that moved stays where it opened": func(t *testing.T) {
			// Four calls leave at 0, 2, 4 and 6 s, two have slots at 10 and 12 s. The first pause
			// moves these to 19 and 21 s. The window opens with the first of them, and ends at 29 s.
			var k Key
			var r *Receipt
			l, spaced := store.Per(4, 10*time.Second).By(store.FixedWindow), store.Per(1, 2*time.Second)
			for range 6 {
				_, r = take(&k, waiting(1, time.Hour, l, spaced), begun, 1)
			}
			for _, test := range []struct {
				at, until, leaves int64
				counts            bool
			}{{7, 16, 21, true}, {20, 24, 25, true}, {23, 30, 31, false}} {
				m := k.Brake(charges(0, l, spaced).Charges, &store.Brake{Pause: time.Duration(test.until-test.at) * time.Second}, begun+test.at*sec)
				if at := int64(m.Real(store.Instant(r.Slot))) - begun; at != test.leaves*sec {
					t.Errorf("after the pause until %d s the last call leaves at %d µs", test.until, at)
				}
				if counts := m.Counts(r); counts != test.counts {
					t.Errorf("after the pause until %d s the window counts the call: %v", test.until, counts)
				}
			}
		},
		"no slot comes in a pause, also behind a call that left a reserve": func(t *testing.T) {
			var k Key
			l := store.Per(10, 10*time.Second)
			take(&k, charges(10, l), begun, 0)
			var last *Receipt
			for _, reserve := range []int64{2, 0, 0} {
				req := waiting(3, time.Hour, l)
				req.Charges[0].Reserve = reserve
				_, last = take(&k, req, begun, 1)
			}
			m := pause(&k, l, time.Minute, last.Slot-sec/2)
			if at := int64(m.Real(store.Instant(last.Slot))); at < m.Until {
				t.Errorf("the last call comes %d µs before the end of the pause", m.Until-at)
			}
		},
		"a key that is slow, too, resets once the next unit may come": func(t *testing.T) {
			var k Key
			l := store.Per(10, time.Second).By(store.FixedWindow)
			k.Brake(charges(0, l).Charges, &store.Brake{Tell: true, Gap: 10 * time.Second, GapFor: time.Hour}, begun)
			if d, _ := take(&k, charges(1, l), begun, 0); d.Remaining != 0 || d.ResetAfter != 10*time.Second {
				t.Errorf("after a call: %+v", d)
			}
			pause(&k, l, time.Second, begun)
			if d, _ := take(&k, charges(0, l), begun, 0); d.Remaining != 0 || d.ResetAfter != 10*time.Second {
				t.Errorf("in a pause: %+v", d)
			}
		},
		"no call waits for the slot of the only call ahead, which was undone": func(t *testing.T) {
			var k Key
			l := store.Per(10, 10*time.Second)
			take(&k, charges(10, l), begun, 0)
			pause(&k, l, time.Millisecond, begun) // is over
			_, r := take(&k, waiting(10, time.Hour, l), begun+1000, 1)
			pause(&k, l, time.Second, begun+1000)
			k.Settle(r, begun+1001, func(int) int64 { return 0 })
			if d, _ := take(&k, waiting(1, time.Hour, l), begun+1001, 1); d.Delay != time.Second-time.Microsecond {
				t.Errorf("comes in %v, want it at the end of the pause", d.Delay)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tell(t)
		})
	}
}
