package leasestore

import (
	"math/bits"
	"slices"
	"time"

	"github.com/goweir/weir/store"
)

// id is a key in a scope.
type id struct{ scope, key string }

// lease is a busy key and its units taken ahead.
type lease struct {
	id
	// Every call reads the fields up to plain: they share a cache line.
	left  int64         // unused units
	until time.Duration // the end of their use
	since time.Duration // when they were asked for
	seen  time.Duration // when the last call came
	of    *store.Limit  // the prepared limit that is known to fit; nil: unknown
	plain store.Outcome // d without the limit, for of

	limits []store.Limit
	size   int64          // units of the last call that took ahead; the used ones, if late
	alones int64          // units of calls decided alone since then
	from   time.Duration  // when alones began to count
	late   bool           // some units were not used in time
	took   int64          // units that the last call took
	alone  time.Duration  // until then each call is decided alone
	d      store.Decision // of the call that took
	taking chan struct{}  // closed at the end of the call that takes units ahead; nil: none is under way
	turn   int            // units asked for in another turn are not kept
	deep   time.Duration  // until then no lapsing units can be taken
	timer  *time.Timer    // gives units back
}

// unused is a call that took units ahead, and its used units. The rest is given back.
type unused struct {
	receipt any // nil: there are none
	used    int64
}

// next is the next step of a call.
type next int

const (
	used  next = iota // the call has its unit
	wait              // for the call under way that takes units
	more              // take more, as begun
	alone             // let the store behind decide this call alone
)

// fits reports whether the lease has the limits of the charges.
func (l *lease) fits(charges []store.Charge) bool {
	return slices.EqualFunc(charges, l.limits, func(c store.Charge, limit store.Limit) bool { return c.Limit == limit })
}

// use serves a call from the unused units, or returns its next step.
func (l *lease) use(req *store.Request, now time.Duration, d *store.Decision) next {
	cost := req.Charges[0].Cost
	fits := l.fits(req.Charges)
	switch {
	case l.taking != nil && fits:
		return wait
	case l.taking == nil && fits && l.left >= cost && now < l.until:
		l.left -= cost
		*d = l.d
		age(d, l.left, max(now-l.since, 0))
		d.Source = store.SourceLease
		return used
	case l.taking != nil, now < l.alone && l.left == 0, req.NeverFits() >= 0:
		return alone
	case !fits:
		l.adopt(req.Charges)
	}
	return more
}

// adopt gives the lease other limits. Old units are given back later, or lapse.
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

// age makes a decision that took units ahead one on a single unit: more units remain, and
// the decision is some time ago.
func age(d *store.Decision, more int64, ago time.Duration) {
	d.Receipt = nil
	d.Remaining += more
	d.ResetAfter = max(d.ResetAfter-ago, 0)
	d.At = after(d.At, ago)
	d.Charges = slices.Clone(d.Charges)
	for i := range d.Charges {
		d.Charges[i].Remaining += more
		d.Charges[i].ResetAfter = max(d.Charges[i].ResetAfter-ago, 0)
	}
}

// after returns an instant later than at; 0 if at is unknown.
func after(at store.Instant, ago time.Duration) store.Instant {
	if at == 0 {
		return 0
	}
	return at + store.Instant(ago.Microseconds())
}

// The minimum number of units taken ahead. Calls for lapsing units share round trips. Calls
// with a receipt don't.
const (
	worth        = 32
	worthLapsing = 4
)

// plan says how many units a call takes.
type plan struct {
	n     int64 // with its own
	leave int64 // Reserve of the charge, so that unused units lapse in time; 0: with a receipt
}

// plan plans the next call of a cost. The number of units depends on the last ones:
//
//	used up within half a period   enough for a whole period
//	used up within the period      as many
//	partly unused                  as many as were used
//
// It takes none ahead of a slow key, and none before calls have taken enough alone within
// half a period.
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
	if most < least || most <= cost || l.isBraked(period) || now < l.alone {
		return plan{n: cost}
	}
	n, age := l.size, now-l.since
	switch {
	case l.late && age > 2*period, !l.late && age > period:
		n = 0
	case !l.late && age <= period/2:
		n *= int64(min(period/max(age, 1), mostGrowth))
	}
	if n = min(n, most); n >= least {
		if leave > 0 { // Calls for the same number share a round trip.
			n = 1 << (bits.Len64(uint64(n)) - 1)
		}
		return plan{max(n, cost), leave}
	}
	if l.size = 0; now-l.from > period/2 {
		l.alones, l.from = 0, now
	}
	if l.alones += cost; l.alones < least {
		return plan{n: cost}
	}
	l.alones = 0
	return plan{max(least, cost), leave}
}

// isBraked reports whether the key's time stands or is slow within a period. Units then
// come one by one.
func (l *lease) isBraked(period time.Duration) bool {
	c, v, ahead := l.d.Clock, l.d.Slot, store.Instant(period.Microseconds())
	return c != nil && c.Real(v+ahead) > c.Real(v)+ahead
}

// mostGrowth is the maximum growth of the number of units from one call to the next.
const mostGrowth = 8

// refilled returns the units that a bucket gets back within a period; 0: no bucket.
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

// lapse forgets unused lapsing units after their time.
func (l *lease) lapse(now time.Duration) {
	if l.left > 0 && l.d.Receipt == nil && now >= l.until {
		l.size, l.left, l.late = l.took-l.left, 0, true
	}
}
