package leasestore

import (
	"math/bits"
	"slices"
	"time"

	"github.com/goweir/weir/store"
)

// id is a key in a scope.
type id struct{ scope, key string }

// lease is what is known of a busy key: the units that were taken ahead.
type lease struct {
	id
	// What each call looks at is together, for the sake of caches.
	left  int64         // units that were taken and not used
	until time.Duration // when what is left may not be used any more
	since time.Duration // when that was asked for
	seen  time.Duration // when a call came last
	of    *prepared     // whose limit it is known to have; nil: nobody's
	plain store.Outcome // all of d but the limit, for who is of

	limits []store.Limit
	size   int64          // units that were last taken ahead; used of them, if late
	alones int64          // units that calls took by themselves since then
	from   time.Duration  // when those began to be counted
	late   bool           // not all of them were used in time
	took   int64          // units that the last one took
	alone  time.Duration  // until then each call is decided by itself
	d      store.Decision // of the call that took
	taking chan struct{}  // closed when the call that takes units ahead is over; nil: there is none
	turn   int            // what was asked for in another turn is not kept
	deep   time.Duration  // until then no units are there that would lapse in time
	timer  *time.Timer    // gives back
}

// unused is what is given back: all but the units that were used.
type unused struct {
	receipt any
	used    int64
}

// next says what a call has to do.
type next int

const (
	used  next = iota // it has its unit
	wait              // for another that takes more
	more              // take more, as begun
	alone             // be decided by itself
)

// fits reports whether the lease is of the limits of these charges.
func (l *lease) fits(charges []store.Charge) bool {
	if len(l.limits) != len(charges) {
		return false
	}
	for i := range charges {
		if charges[i].Limit != l.limits[i] {
			return false
		}
	}
	return true
}

// use has a call take from what is left.
func (l *lease) use(req *store.Request, now time.Duration, d *store.Decision) next {
	cost := req.Charges[0].Cost
	fits := l.fits(req.Charges)
	switch {
	case l.taking != nil && fits:
		return wait
	case l.taking == nil && fits && l.left >= cost && now < l.until:
		l.left -= cost
		l.decide(d, now)
		d.Source = store.SourceLease
		return used
	case l.taking != nil, now < l.alone && l.left == 0, cost > req.Charges[0].Limit.Max():
		return alone
	case !fits:
		l.adopt(req.Charges)
	}
	return more
}

// adopt makes it a lease of other limits. Old units are given back later, or lapse.
func (l *lease) adopt(charges []store.Charge) {
	l.limits = slices.Grow(l.limits[:0], len(charges))
	for i := range charges {
		l.limits = append(l.limits, charges[i].Limit)
	}
	l.forget()
}

// forget makes the key idle. Units left or under way are given back later, or lapse.
func (l *lease) forget() {
	l.size, l.until, l.deep, l.of = 0, 0, 0, nil
	if l.turn++; l.d.Receipt == nil {
		l.left = 0
	}
}

// decide decides on a unit taken ahead, as the store answered then.
func (l *lease) decide(d *store.Decision, now time.Duration) {
	*d = l.d
	ago := max(now-l.since, 0)
	d.Receipt = nil
	d.Remaining += l.left
	d.ResetAfter = max(d.ResetAfter-ago, 0)
	d.At = after(d.At, ago)
	if len(l.d.Charges) > 0 {
		d.Charges = slices.Clone(l.d.Charges)
		for i := range d.Charges {
			d.Charges[i].Remaining += l.left
			d.Charges[i].ResetAfter = max(d.Charges[i].ResetAfter-ago, 0)
		}
	}
}

// The minimum number of units that are taken ahead. A call for units that may have to be
// given back is not combined with others. A call for units that lapse in time is.
const (
	worth        = 32
	worthLapsing = 4
)

// plan is how a call takes units.
type plan struct {
	n     int64 // so many, its own among them
	leave int64 // with so many left to others, so that what is not used lapses in time; 0: it can be given back
}

// plan plans the next call, which costs cost. It takes as many units as would have lasted
// for a period if the last ones were used up soon, as many again if they were used in
// time, else as many as were used. It takes none ahead of a slow key, nor of one that
// has not taken enough by itself within half a period.
func (l *lease) plan(cost, most int64, now, period time.Duration) plan {
	least, leave := min(worth, most), int64(0)
	for i := range l.limits {
		most = min(most, l.limits[i].Max()/8)
	}
	most = min(most, l.d.Remaining/4)
	if n := l.refilled(period) / 4; n >= worthLapsing && now >= l.deep {
		least, most = min(worthLapsing, least), min(most, n)
		leave = max(l.limits[0].Max()-l.refilled(period), 1)
	}
	single := plan{n: cost}
	if most < least || most <= cost || l.isBraked(period) || now < l.alone {
		return single
	}
	n, age := l.size, now-l.since
	switch {
	case l.late && age > 2*period, !l.late && age > period:
		n = 0
	case !l.late && age <= period/2:
		n *= int64(min(period/max(age, 1), mostGrowth))
	}
	if n = min(n, most); n >= least {
		if leave > 0 { // Calls for the same number travel together.
			n = 1 << (bits.Len64(uint64(n)) - 1)
		}
		return plan{max(n, cost), leave}
	}
	if l.size = 0; now-l.from > period/2 {
		l.alones, l.from = 0, now
	}
	if l.alones += cost; l.alones < least {
		return single
	}
	l.alones = 0
	return plan{max(least, cost), leave}
}

// isBraked reports whether the key's time stands or is slow within a period: units
// come one by one then.
func (l *lease) isBraked(period time.Duration) bool {
	c, v, ahead := l.d.Clock, l.d.Slot, store.Instant(period.Microseconds())
	return c != nil && c.Real(v+ahead) > c.Real(v)+ahead
}

// mostGrowth is how many times as many units are taken as before.
const mostGrowth = 8

// refilled is how many units a bucket gets back within a period; 0: it is no bucket.
func (l *lease) refilled(period time.Duration) int64 {
	if len(l.limits) != 1 || l.limits[0].Algorithm != store.GCRA {
		return 0
	}
	limit := &l.limits[0]
	hi, lo := bits.Mul64(uint64(limit.Rate), uint64(period))
	if hi >= uint64(limit.Period) {
		return limit.Max()
	}
	n, _ := bits.Div64(hi, lo, uint64(limit.Period))
	return int64(min(n, uint64(limit.Max())))
}

// granted keeps what a call took.
func (l *lease) granted(r *refill, period time.Duration) {
	l.d, l.took, l.left, l.since, l.late = r.d, r.n-r.rest, r.n-r.cost, r.since, false
	l.d.OtherLimits = false // They may end before the lease.
	if l.size = 0; r.n > r.cost {
		l.size = r.n
	}
	l.until = l.since + period
	l.of, l.plain = nil, store.Outcome{Remaining: r.d.Remaining, ResetAfter: r.d.ResetAfter, At: r.d.At}
	for i := range l.limits {
		l.until = min(l.until, l.since+windowEnd(&l.limits[i], l.d.Charge(i).ResetAfter))
	}
}

// windowEnd returns how long the window lasts that a unit was just taken in.
func windowEnd(limit *store.Limit, reset time.Duration) time.Duration {
	switch limit.Algorithm {
	case store.FixedWindow, store.AlignedWindow:
		return reset
	case store.SlidingCounter:
		return max(reset-limit.Period, 0)
	}
	return longest
}

// lapse forgets what was not used in time and need not be given back.
func (l *lease) lapse(now time.Duration) {
	if l.left > 0 && l.d.Receipt == nil && now >= l.until {
		l.size, l.left, l.late = l.took-l.left, 0, true
	}
}

// end takes away what is left, to be given back.
func (l *lease) end() (u unused, some bool) {
	u, some = unused{l.d.Receipt, l.took - l.left}, l.left > 0 && l.d.Receipt != nil
	l.left, l.d.Receipt = 0, nil
	return u, some
}
