package exact

import (
	"testing"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
)

func charges(cost int64, limits ...store.Limit) *store.Request {
	req := &store.Request{}
	for _, l := range limits {
		req.Charges = append(req.Charges, store.Charge{Limit: l, Cost: cost})
	}
	return req
}

// TestRefusedUnderAnotherLimit: a refused call keeps the used share. The new limit then
// recovers from it at its own rate.
func TestRefusedUnderAnotherLimit(t *testing.T) {
	t.Parallel()
	var k Key
	now, fast := begun, charges(1, store.Per(100, time.Second))
	take(&k, charges(1, store.Per(1, 24*time.Hour)), now, 0)
	for range 5 {
		if d, _ := take(&k, fast, now, 0); d.Allowed || d.RetryAfter != 10*time.Millisecond-time.Duration(now-begun)*time.Microsecond {
			t.Fatalf("after %d µs: %+v", now-begun, d)
		}
		now += 2000
	}
	if d, _ := take(&k, fast, now, 0); !d.Allowed {
		t.Errorf("after the emission interval: %+v", d)
	}
	// A look changes nothing, and a key that is not used remembers no refusal.
	if take(&k, charges(0, store.Per(7, time.Hour)), now, 0); len(k.Parts) != 2 {
		t.Errorf("after a look: %+v", k.Parts)
	}
	var fresh Key
	if take(&fresh, charges(2, store.Per(1, time.Hour)), now, 0); len(fresh.Parts) != 0 {
		t.Errorf("refused on a new key: %+v", fresh.Parts)
	}
}

// TestLeftOutLimitsLapse: limits that calls leave out lapse though the key is in use. Until
// then they count at most the units that they could have admitted.
func TestLeftOutLimitsLapse(t *testing.T) {
	t.Parallel()
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		var k Key
		now, fast := begun, charges(100, store.Per(10_000, time.Second))
		take(&k, charges(1, store.Per(1, 24*time.Hour).By(a)), now, 0)
		now += time.Second.Microseconds()
		most := 0
		for range 3000 {
			take(&k, fast, now, 0)
			now += time.Minute.Microseconds()
			most = max(most, len(k.Parts))
			if late := k.Lapse() - now; late > 4*24*time.Hour.Microseconds() {
				t.Fatalf("%v: the key lapses after %v", a, time.Duration(late)*time.Microsecond)
			}
		}
		if most != 2 || len(k.Parts) != 1 {
			t.Errorf("%v: %d limits at most, %d after two days", a, most, len(k.Parts))
		}
		for i := range int64(1000) {
			take(&k, charges(1, store.Per(10_000+i, time.Hour).By(a)), now, 0)
		}
		if len(k.Parts) > maxLeft+1 {
			t.Errorf("%v: %d limits", a, len(k.Parts))
		}
	}
}

// TestOneSlidingWindowAmongOthers counts its own cost.
func TestOneSlidingWindowAmongOthers(t *testing.T) {
	t.Parallel()
	var k Key
	req := charges(1, store.Per(60, time.Minute).By(store.SlidingWindow), store.Per(90_000, time.Minute))
	req.Charges[1].Cost = 500
	d, r := take(&k, req, begun, 1)
	if d.Charge(0).Remaining != 59 || d.Charge(1).Remaining != 89_500 {
		t.Errorf("a request of 500 tokens: %+v", d.Charges)
	}
	k.Settle(r, begun, func(charge int) int64 { return []int64{1, 700}[charge] })
	if d, _ := take(&k, charges(0, req.Charges[0].Limit, req.Charges[1].Limit), begun, 0); d.Charge(0).Remaining != 59 || d.Charge(1).Remaining != 89_300 {
		t.Errorf("settled at 700 tokens: %+v", d.Charges)
	}
	req.Charges[0].Cost = 0
	if d, _ := take(&k, req, begun, 0); d.Charge(0).Remaining != 59 {
		t.Errorf("a request that only looks at the window: %+v", d.Charges)
	}
}

// TestReleasesShareFixedWindows: fixed windows of one length begin together, also if the second
// limit is added in the middle of a window. So each window holds at most the wider limit.
func TestReleasesShareFixedWindows(t *testing.T) {
	t.Parallel()
	const period = int64(10e6)
	for seed := range uint64(300) {
		rng := newRand(seed)
		wide := 2 + rng.Int64N(9)
		rates := []int64{wide, 1 + rng.Int64N(wide)}
		var k Key
		now, start, units := begun, int64(0), int64(0)
		for range 60 {
			now += rng.Int64N(period / 4)
			rate := rates[rng.IntN(2)]
			cost := 1 + rng.Int64N(rate)
			if d, _ := take(&k, charges(cost, store.Per(rate, 10*time.Second).By(store.FixedWindow)), now, 0); !d.Allowed {
				continue
			}
			if now >= start+period {
				start, units = now, 0
			}
			if units += cost; units > wide {
				t.Fatalf("seed %d: %d units in the window from %d on, rates %v", seed, units, start-begun, rates)
			}
		}
	}
}

// TestDebtBehindASlot is not forgotten.
func TestDebtBehindASlot(t *testing.T) {
	t.Parallel()
	var k Key
	l := store.Per(1000, time.Second)
	wait := func(key *Key, cost int64, l store.Limit) (store.Decision, *Receipt) {
		req := charges(cost, l)
		req.MaxWait = time.Hour
		return take(key, req, begun, 1)
	}
	_, first := wait(&k, 1000, l)
	wait(&k, 1000, l)
	k.Settle(first, begun, func(int) int64 { return 1500 })
	if d, _ := wait(&k, 1000, l); d.Delay != 2500*time.Millisecond {
		t.Errorf("1000 after 1500 and 1000 of 1000 per second come in %v", d.Delay)
	}
	for _, a := range []store.Algorithm{store.SlidingCounter, store.FixedWindow, store.AlignedWindow} {
		var k Key
		l := store.Per(10, time.Minute).By(a)
		_, first := wait(&k, 4, l)
		_, behind := wait(&k, 8, l)
		k.Settle(first, begun, func(int) int64 { return 10 })
		k.Settle(behind, begun, func(int) int64 { return 0 })
		if d, _ := take(&k, charges(1, l), begun, 0); d.Allowed {
			t.Errorf("%v: admitted one more than 10: %+v", a, d)
		}
	}
}

// TestEmptiedWindow: a window that was emptied ahead keeps the key, as the units of the
// present window are not known any more.
func TestEmptiedWindow(t *testing.T) {
	t.Parallel()
	for _, a := range []store.Algorithm{store.SlidingCounter, store.FixedWindow, store.AlignedWindow} {
		var k Key
		l := store.Per(4, time.Minute).By(a)
		take(&k, charges(4, l), begun, 0)
		req := charges(1, l)
		req.MaxWait = time.Hour
		d, r := take(&k, req, begun, 1)
		k.Brake(charges(0, l).Charges, &store.Brake{Pause: time.Millisecond}, begun)
		k.Settle(r, begun, func(int) int64 { return 0 })
		if late := k.Lapse() - begun; late < d.Delay.Microseconds() {
			t.Errorf("%v: the key lapses in %d µs, the booking was to come in %v", a, late, d.Delay)
		}
	}
}

// TestLimitAddedInAPause: a limit that is added in a pause counts the bookings ahead.
func TestLimitAddedInAPause(t *testing.T) {
	t.Parallel()
	var k Key
	one, two := store.Per(6, time.Second).By(store.AlignedWindow), store.Per(7, time.Second).By(store.AlignedWindow)
	k.Brake(charges(0, one).Charges, &store.Brake{Pause: 10 * time.Second}, begun)
	for _, l := range []store.Limit{one, two} {
		req := charges(3, l)
		req.MaxWait = time.Hour
		if d, _ := take(&k, req, begun, 1); d.Delay != 10*time.Second {
			t.Errorf("%v: %+v", l, d)
		}
	}
	for i := range k.Parts {
		if p := &k.Parts[i]; p.State.A != begun+10*time.Second.Microseconds() || p.State.B < 6 {
			t.Errorf("%v: window %d holds %d units", p.Rule.Limit, p.State.A-begun, p.State.B)
		}
	}
}

// TestWindowsStayApart: aligned windows ahead do not become one when the clock changes.
func TestWindowsStayApart(t *testing.T) {
	t.Parallel()
	const period = int64(1e6)
	for seed := range uint64(2000) {
		rng := newRand(seed)
		m := &Move{First: begun + rng.Int64N(3*period)}
		for range 3 {
			b := store.Brake{Tell: true, Gap: time.Duration(rng.Int64N(1e7)), GapFor: time.Duration(rng.Int64N(2e10))}
			if rng.IntN(3) == 0 {
				b = store.Brake{Cut: store.Cut{Unit: 1, Recovery: time.Duration(rng.Int64N(1e11))}}
			}
			m.Before = m.Clock
			m.Clock, _ = m.Clock.Apply(&b, 1000, 0, begun)
		}
		last := int64(0)
		for i := range int64(40) {
			start := m.window(store.AlignedWindow, period, align(begun, period)+(i+1)*period)
			if start <= last {
				t.Fatalf("seed %d: window %d moves to %d, the one before to %d", seed, i, start-begun, last-begun)
			}
			last = start
		}
	}
}

// TestRealBeforeABooking: a watcher may ask a clock from before the first booking in a
// pause.
func TestRealBeforeABooking(t *testing.T) {
	t.Parallel()
	var k Key
	l := store.Per(1, time.Second)
	m := k.Brake(charges(0, l).Charges, &store.Brake{Pause: time.Minute}, begun)
	req := charges(1, l)
	req.MaxWait = time.Hour
	if d, r := take(&k, req, begun+5, 1); m.Real(store.Instant(r.Slot)) != store.Instant(begun)+60_000_000 || d.Clock.Real(d.Slot) != m.Real(d.Slot) {
		t.Errorf("a slot at %d leaves at %d: %+v", r.Slot-begun, int64(m.Real(store.Instant(r.Slot)))-begun, d)
	}
}

// TestLeftOutInAPause: the time of a limit that a call leaves out stands in a pause, too.
func TestLeftOutInAPause(t *testing.T) {
	t.Parallel()
	var k Key
	narrow, wide := store.Per(3, time.Second).By(store.SlidingWindow), store.Per(6, time.Second).By(store.SlidingWindow)
	take(&k, charges(3, narrow), begun, 0)
	take(&k, waiting(3, time.Hour, narrow), begun, 1)
	_, r := take(&k, waiting(6, time.Hour, wide), begun, 1)
	k.Brake(charges(0, narrow).Charges, &store.Brake{Pause: 10 * time.Second}, begun)
	now := begun + 5_000_000
	k.Settle(r, now, func(int) int64 { return 0 })
	if d, _ := take(&k, waiting(6, time.Hour, wide), now, 1); d.Delay != 6*time.Second {
		t.Errorf("6 come in %v, want them a second after the 3 that leave at the end of the pause", d.Delay)
	}
}

// TestALapsedLimitIsNamedAgain: a call that names a limit again waits for no more than that
// limit's own units, also if the wait ends at the instant at which the limit lapses.
func TestALapsedLimitIsNamedAgain(t *testing.T) {
	t.Parallel()
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		var k Key
		plan, other := store.Per(10, time.Second).By(a), charges(9, store.Per(10, time.Minute))
		take(&k, charges(1, plan), begun, 0)
		if d, _ := take(&k, other, begun, 0); !d.Allowed {
			t.Fatalf("%v: the other limit refuses: %+v", a, d)
		}
		d, _ := take(&k, charges(10, plan), begun, 0)
		if d.Allowed || d.RetryAfter > 2*time.Second {
			t.Fatalf("%v: %+v", a, d)
		}
		if d, _ := take(&k, charges(10, plan), begun+d.RetryAfter.Microseconds(), 0); !d.Allowed {
			t.Errorf("%v: refused after RetryAfter: %+v", a, d)
		}
	}
}

// TestReleasesShareBuckets: a bucket that some calls leave out stays as long as it holds units. So
// two releases never take more than the wider bucket holds.
func TestReleasesShareBuckets(t *testing.T) {
	t.Parallel()
	for seed := range uint64(long.Of(20_000)) {
		rng := newRand(seed)
		wide := store.Per(1+rng.Int64N(20), time.Duration(1e6+rng.Int64N(3e6))*time.Microsecond).WithBurst(1 + rng.Int64N(20))
		narrow := store.Per(1+rng.Int64N(wide.Rate), wide.Period+time.Duration(rng.Int64N(1e6))*time.Microsecond).WithBurst(1 + rng.Int64N(wide.Burst))
		var k Key
		now, tat, stays := begun, int64(0), rng.IntN(30)
		limit := wide
		for i := range 100 {
			if rng.IntN(1+stays) == 0 {
				limit = []store.Limit{wide, narrow}[rng.IntN(2)]
			}
			now += rng.Int64N(wide.Period.Microseconds()) * rng.Int64N(2)
			wait := time.Duration(rng.Int64N(2)) * time.Hour
			cost := 1 + rng.Int64N(limit.Burst)
			d, _ := take(&k, waiting(cost, wait, limit), now, int64(i))
			if !d.Allowed {
				continue
			}
			// In units of 1/Rate of a microsecond. Instants are rounded up.
			at := now + d.Delay.Microseconds()
			tat = max(tat, (at-begun)*wide.Rate) + cost*wide.Period.Microseconds()
			if over := tat - wide.Burst*wide.Period.Microseconds() - (at-begun+2)*wide.Rate; over > 0 {
				t.Fatalf("seed %d: %v, burst %d, and %v, burst %d: %d units too many at %d", seed, wide, wide.Burst, narrow, narrow.Burst, over/wide.Period.Microseconds()+1, at-begun)
			}
		}
	}
}
