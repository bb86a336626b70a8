package exact

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/goweir/weir/store"
)

const second = int64(1_000_000)

func TestBrake(t *testing.T) {
	t.Parallel()
	cut := func(unit, recovery time.Duration, since int64) store.Brake {
		return store.Brake{Cut: store.Cut{Unit: unit, Recovery: recovery, Since: store.Instant(since)}}
	}
	tell := func(gap, lasts time.Duration) store.Brake { return store.Brake{Tell: true, Gap: gap, GapFor: lasts} }
	const s, ms = time.Second, time.Millisecond
	for _, tt := range []struct {
		name    string
		brakes  []store.Brake // set one after the other, now
		changed bool          // by the last
		void    bool
		at      int64 // after now
		from    int64 // the earliest slot from now+at on, after now
		spacing int64 // of it
		lapse   int64 // after now; that of the zero Brake is -now
	}{
		{"nothing asked for", []store.Brake{{}}, false, false, 0, 0, 0, -now},
		{"a pause", []store.Brake{{Pause: s}}, true, true, 0, second, 0, second},
		{"a pause that is over", []store.Brake{{Pause: s}}, true, true, second, second, 0, second},
		{"a shorter pause", []store.Brake{{Pause: s}, {Pause: s - 1000}}, false, false, 0, second, 0, second},
		{"the same pause", []store.Brake{{Pause: s}, {Pause: s}}, false, false, 0, second, 0, second},
		{"a longer pause", []store.Brake{{Pause: s}, {Pause: 2 * s}}, true, true, 0, 2 * second, 0, 2 * second},
		{"a pause with slack", []store.Brake{{Pause: s, Slack: ms}}, true, true, 0, 1_001_000, 0, 1_001_000},
		{"a pause within the slack", []store.Brake{{Pause: s, Slack: ms}, {Pause: s + ms, Slack: ms}}, false, false, 0, 1_001_000, 0, 1_001_000},
		{"a pause beyond the slack", []store.Brake{{Pause: s, Slack: ms}, {Pause: s + 2*ms, Slack: ms}}, true, true, 0, 1_003_000, 0, 1_003_000},
		{"a pause of less than a microsecond", []store.Brake{{Pause: 1}}, true, true, 0, 1, 0, 1},
		{"the longest pause", []store.Brake{{Pause: store.MaxPeriod / 4}}, true, true, 0, int64(store.MaxPeriod / 4 / 1000), 0, int64(store.MaxPeriod / 4 / 1000)},
		{"told", []store.Brake{tell(300*ms, 10*s)}, true, true, 0, 0, 300_000, 10 * second},
		{"told what is over", []store.Brake{tell(300*ms, 10*s)}, true, true, 10 * second, 10 * second, 0, 10 * second},
		{"told somewhat less: slots stay", []store.Brake{tell(300*ms, 10*s), tell(200*ms, 5*s)}, true, false, 0, 0, 200_000, 5 * second},
		{"told much less: slots are too late", []store.Brake{tell(300*ms, 10*s), tell(100*ms, 5*s)}, true, true, 0, 0, 100_000, 5 * second},
		{"told nothing any more", []store.Brake{tell(300*ms, 10*s), tell(0, 0)}, true, true, 0, 0, 0, 0},
		{"told for no time", []store.Brake{tell(300*ms, 0)}, true, false, 0, 0, 0, 0},
		{"told a fraction of a microsecond", []store.Brake{tell(1001, 1001)}, true, true, 1, 1, 2, 2},
		{"told more than there is", []store.Brake{tell(store.MaxPeriod/4, s)}, true, true, 0, 0, mostGap, second},
		{"cut in half", []store.Brake{cut(10*ms, 10*s, 0)}, true, true, 0, 0, 20_001, 5 * second},
		{"cut, half recovered", []store.Brake{cut(10*ms, 10*s, 0)}, true, true, 2_500_000, 2_500_000, 13_334, 5 * second},
		{"cut, recovered", []store.Brake{cut(10*ms, 10*s, 0)}, true, true, 5 * second, 5 * second, 0, 5 * second},
		{"cut again for a call of before", []store.Brake{cut(10*ms, 10*s, 0), cut(10*ms, 10*s, now)}, false, false, 0, 0, 20_001, 5 * second},
		{"cut again for a call of after", []store.Brake{cut(10*ms, 10*s, 0), cut(10*ms, 10*s, now+1)}, true, true, 0, 0, 40_001, 7_500_000},
		{"cut again with another recovery", []store.Brake{cut(10*ms, 10*s, 0), cut(10*ms, 20*s, now+1)}, true, true, 0, 0, 40_001, 15 * second},
		{"cut without a recovery", []store.Brake{cut(10*ms, 0, 0)}, true, true, 0, 0, 20_001, 32},
		{"cut of less than a microsecond", []store.Brake{cut(1, 10*s, 0)}, true, true, 0, 0, 3, 5 * second},
		{"the slowest cut", []store.Brake{cut(store.MaxPeriod/4, store.MaxPeriod/4, 0)}, true, true, 0, 0, 2*(mostGap/leastShare) + 1, int64(store.MaxPeriod / 8 / 1000)},
		{"the larger of what was told and cut", []store.Brake{tell(300*ms, 10*s), cut(10*ms, 10*s, 0)}, true, true, 0, 0, 300_000, 10 * second},
		{"lifted", []store.Brake{{Pause: s}, tell(s, s), cut(s, s, 0), {Lift: true}}, true, true, 0, 0, 0, -now},
		{"lifted with nothing to lift", []store.Brake{{Lift: true}}, false, false, 0, 0, 0, -now},
		{"lifting asks for nothing else", []store.Brake{{Lift: true, Pause: s}}, false, false, 0, 0, 0, -now},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var k Brake
			var changed, void bool
			for i := range tt.brakes {
				changed, void = k.Apply(&tt.brakes[i], now)
			}
			at := now + tt.at
			if changed != tt.changed || void != tt.void {
				t.Errorf("changed %v, void %v; want %v, %v", changed, void, tt.changed, tt.void)
			}
			if from, spacing := k.From(at)-now, k.Spacing(at); from != tt.from || spacing != tt.spacing {
				t.Errorf("from %d, spacing %d; want %d, %d", from, spacing, tt.from, tt.spacing)
			}
			if lapse := k.Lapse() - now; lapse != tt.lapse {
				t.Errorf("lapses after %d, want %d", lapse, tt.lapse)
			}
			if before := k; tt.brakes[len(tt.brakes)-1].Lift == false {
				if _, again := k.Apply(&tt.brakes[len(tt.brakes)-1], now); again && tt.brakes[len(tt.brakes)-1].Cut.Since <= now {
					t.Errorf("the same again makes slots void: %+v, before %+v", k, before)
				}
			}
		})
	}
}

func TestBrakeBooks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		gap       time.Duration
		slot      int64 // after now
		cost      int64
		wantAhead int64 // of the slot
	}{
		{"one unit", time.Second, 0, 1, second},
		{"three units", time.Second, 5, 3, 3 * second},
		{"no unit", time.Second, 0, 0, 0},
		{"more units than fit until the pace ends", time.Second, 0, 5000, 3600 * second},
		{"units without end", time.Second, 0, store.MaxUnits, 3600 * second},
		{"one unit, longer than the pace", 2 * time.Hour, 0, 1, 7200 * second},
		{"two units, longer than the pace", 2 * time.Hour, 0, 2, 7200 * second},
		{"the longest gap", store.MaxPeriod / 4, 0, 1, mostGap},
		{"the longest gap for a million", store.MaxPeriod / 4, 0, 1_000_000, mostGap},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var k Brake
			k.Apply(&store.Brake{Tell: true, Gap: tt.gap, GapFor: time.Hour}, now)
			k.Book(now+tt.slot, tt.cost)
			if got := k.Next - now - tt.slot; got != tt.wantAhead {
				t.Errorf("the next is %d later, want %d", got, tt.wantAhead)
			}
		})
	}
	var free Brake
	if free.Book(now, 1); free != (Brake{}) {
		t.Errorf("without a brake: %+v", free)
	}
}

func TestBrakeVoid(t *testing.T) {
	t.Parallel()
	var k Brake
	k.Apply(&store.Brake{Tell: true, Gap: time.Second, GapFor: time.Hour}, now)
	for i := range int64(10) {
		k.Book(now+i*second, 1)
	}
	k.Void(now+9*second, now)
	if k.Next != now+VoidFrom || k.Voided != now+9*second+VoidFor {
		t.Errorf("%+v", k)
	}
	k.Void(now+second, now)
	if k.Voided != now+9*second+VoidFor {
		t.Errorf("forgotten sooner: %+v", k)
	}
}

// A clock that steps back takes the brake along: nobody waits for longer.
func TestBrakeOfTheFuture(t *testing.T) {
	t.Parallel()
	var k Brake
	k.Apply(&store.Brake{Pause: 5 * time.Second, Cut: store.Cut{Unit: time.Second, Recovery: time.Minute}}, now)
	const earlier = now - 600*second
	k.Apply(&store.Brake{Tell: true, Gap: time.Second, GapFor: time.Second}, earlier)
	if k.At != earlier || k.Until != earlier+5*second || k.Cut != earlier || k.Lapse() != earlier+30*second {
		t.Errorf("%+v", k)
	}
	k.Apply(&store.Brake{Pause: time.Second}, 0)
	if k.At != 0 || k.Until != 5*second || k.Cut != 0 || k.Next != 0 {
		t.Errorf("at the beginning of time: %+v", k)
	}
}

// Whatever is asked for and booked in whatever order: a pause is as long as the
// longest, units are as far apart as was told and cut, nothing overflows.
func TestBrakeProperties(t *testing.T) {
	t.Parallel()
	rnd := newRand(7)
	duration := func() time.Duration {
		most := store.MaxPeriod / 4
		return time.Duration(rnd.Int64N(int64(most>>rnd.IntN(55)) + 1))
	}
	for range 2_000 {
		var k Brake
		at := rnd.Int64N(1 << 52)
		until, gap, ends := int64(0), int64(0), int64(0)
		for range 20 {
			b := store.Brake{}
			if rnd.IntN(2) == 0 {
				b.Pause = duration()
				until = max(until, at+Whole(b.Pause))
			}
			if rnd.IntN(3) == 0 {
				b.Tell, b.Gap, b.GapFor = true, duration(), duration()
				gap, ends = min(Whole(b.Gap), mostGap), at+Whole(b.GapFor)
			}
			before := k
			if rnd.IntN(3) == 0 {
				b.Cut = store.Cut{Unit: duration(), Recovery: duration(), Since: store.Instant(rnd.Int64N(at + 2))}
			}
			changed, void := k.Apply(&b, at)
			if void && !changed || changed && k.At != at || !changed && k != before {
				t.Fatalf("changed %v, void %v: %+v after %+v", changed, void, k, b)
			}
			if k.Until < until && b.Pause > 0 {
				t.Fatalf("paused until %d, want %d", k.Until, until)
			}
			if again, void := applied(k, b, at); void || again.Until != k.Until || again.Gap != k.Gap || again.Ends != k.Ends || again.Share != k.Share && int64(b.Cut.Since) <= at {
				t.Fatalf("the same again: %+v, void %v; before %+v", again, void, k)
			}
			checkBrake(t, rnd, &k, at, gap, ends)
			slot := k.From(at + rnd.Int64N(1000*second))
			cost := rnd.Int64N(store.MaxUnits>>rnd.IntN(51) + 1)
			spacing := k.Spacing(slot)
			k.Book(slot, cost)
			next := k.From(slot)
			if next < slot || next > slot+mostGap {
				t.Fatalf("%d units at %d, %d apart: the next at %d", cost, slot, spacing, next)
			}
			if far := slot + min(spacing, mostGap/max(cost, 1))*cost; next < far && k.Spacing(next) > 0 {
				t.Fatalf("%d units at %d, %d apart: the next at %d, where units are still apart", cost, slot, spacing, next)
			}
			if cost > 0 && spacing > 0 && next < slot+min(spacing, mostGap) {
				t.Fatalf("%d units at %d, %d apart: the next at %d", cost, slot, spacing, next)
			}
			if spacing > 0 && next > max(slot+spacing, before.Until, k.Until) && k.Spacing(next-1) == 0 {
				t.Fatalf("%d units at %d, %d apart: the next at %d, where nothing is apart any more", cost, slot, spacing, next)
			}
			if rnd.IntN(4) == 0 {
				k.Void(slot, at)
			}
			at += rnd.Int64N(int64(1) << rnd.IntN(40))
		}
	}
}

// applied applies a brake once more to a copy.
func applied(k Brake, b store.Brake, at int64) (Brake, bool) {
	b.Cut.Since = min(b.Cut.Since, store.Instant(at))
	_, void := k.Apply(&b, at)
	return k, void
}

func checkBrake(t *testing.T, rnd *rand.Rand, k *Brake, at, gap, ends int64) {
	t.Helper()
	last := int64(0)
	for _, b := range []int64{0, at, at + 1, at + rnd.Int64N(1<<40), k.Until, k.Next} {
		from := k.From(b)
		if from < b || from < k.Until || from < k.Next || k.From(from) != from {
			t.Fatalf("from %d on the earliest is %d: %+v", b, from, k)
		}
		if b >= last && from < k.From(last) {
			t.Fatalf("the earliest from %d on is before that from %d on: %+v", b, last, k)
		}
		last = max(last, b)
		spacing := k.Spacing(b)
		if b >= at && b < ends && spacing < gap {
			t.Fatalf("%d apart at %d, told %d: %+v", spacing, b, gap, k)
		}
		if b >= k.Cut && k.Unit > 0 && k.share(b) < k.Recovery && (spacing < k.Unit || k.Unit*2 < 1) {
			t.Fatalf("%d apart at %d, the rate was cut: %+v", spacing, b, k)
		}
		if spacing < 0 || spacing > 3*mostGap {
			t.Fatalf("%d apart at %d: %+v", spacing, b, k)
		}
		if b >= k.Lapse() && (spacing != 0 || from != b) {
			t.Fatalf("lapsed at %d, but %d apart from %d at %d: %+v", k.Lapse(), spacing, from, b, k)
		}
	}
}
