package line

import (
	"slices"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

const (
	// An answer is late if it comes lateFrom or more after its question.
	lateFrom = 50 * time.Millisecond
	// A shard remembers up to paceCalls departures of up to paceKeys keys, for paceTime.
	// Departures within paceGrain count as one.
	paceKeys  = 64
	paceCalls = 256
	paceTime  = time.Minute
	paceGrain = time.Millisecond
	// A late key catches up by 1/catchUp of each period. The bound of a delay shrinks half
	// as fast, so that it cuts no distance short.
	catchUp = 64
)

// pace keeps calls of a key apart if they leave later than the store has granted: after
// late answers, looks, or a halt of the process. It counts departures, and lets no more
// leave than the limits admit. It holds a call up for at most twice the time that the key
// was late, so an error in the count does no harm while the store is quick. The factor is
// two because costs above 1 may fill a window less well in another order.
//
// Units of calls under other limits count too. Under windows with a beginning, up to twice
// the rate leaves in a period (see [store.Algorithm]). A count belongs to one process and
// one limiter.
type pace struct {
	left  []departure   // the last ones, in order
	late  time.Duration // the most that a slot of the key was late
	since time.Time
}

// departure is one or several departures of calls, at the time of the first.
type departure struct {
	at    time.Time
	units int64
}

// isOver reports whether a pace no longer keeps calls apart.
func (p *pace) isOver(now time.Time) bool {
	return p.slack(now) == 0 && (len(p.left) == 0 || now.Sub(p.left[len(p.left)-1].at) >= paceTime)
}

// slack returns the maximum time for which a slot may be held up.
func (p *pace) slack(now time.Time) time.Duration {
	if p.late == 0 {
		return 0
	}
	return max(0, p.late-now.Sub(p.since)/(2*catchUp))
}

// delayed notes that a slot is late.
func (p *pace) delayed(by time.Duration, now time.Time) {
	if by > p.slack(now) {
		p.late, p.since = by, now
	}
}

// answered notes the time that an answer took, if that is late.
func (p *pace) answered(took time.Duration, now time.Time) {
	if took >= lateFrom {
		p.delayed(took, now)
	}
}

// leave notes a departure.
func (p *pace) leave(units int64, now time.Time) {
	if units == 0 {
		return
	}
	if n := len(p.left) - 1; n >= 0 && now.Sub(p.left[n].at) < paceGrain {
		p.left[n].units += units
		return
	}
	if len(p.left) > 0 && now.Sub(p.left[0].at) >= paceTime {
		p.left = slices.DeleteFunc(p.left, func(d departure) bool { return now.Sub(d.at) >= paceTime })
	}
	if len(p.left) == paceCalls {
		p.merge()
	}
	p.left = append(p.left, departure{now, units})
}

// correct adds more units to the last departures; below 0: takes them off.
func (p *pace) correct(more int64) {
	for i := len(p.left) - 1; i >= 0 && more != 0; i-- {
		units := max(0, p.left[i].units+more)
		more -= units - p.left[i].units
		p.left[i].units = units
	}
}

// merge makes room: in the older half it joins each two departures.
func (p *pace) merge() {
	const half = paceCalls / 2
	for i := range half / 2 {
		a, b := p.left[2*i], p.left[2*i+1]
		p.left[i] = departure{a.at, a.units + b.units}
	}
	p.left = slices.Delete(p.left, half/2, half)
}

// free returns when a slot that comes at the instant at may leave: whole microseconds later, as
// slots are apart.
func (p *pace) free(limits []store.Limit, cost int64, at, now time.Time) time.Time {
	slack := p.slack(now)
	if slack == 0 || cost == 0 {
		return at
	}
	free := at
	for i := range limits {
		free = later(free, p.under(&limits[i], cost))
	}
	held := min(free.Sub(at), 2*slack)
	return at.Add((held + time.Microsecond - 1).Truncate(time.Microsecond))
}

// under returns when a limit admits a cost after the departures.
func (p *pace) under(l *store.Limit, cost int64) (free time.Time) {
	most := l.Max()
	switch l.Algorithm {
	case store.GCRA:
		for _, d := range p.left {
			free = later(free, d.at).Add(span(l, d.units))
		}
		return free.Add(span(l, cost) - span(l, most))
	case store.SlidingWindow:
	default:
		most *= 2
	}
	for _, d := range slices.Backward(p.left) {
		if most -= d.units; most < cost {
			return d.at.Add(l.Period - l.Period/catchUp)
		}
	}
	return free
}

// span returns the time in which a GCRA limit yields units, up to its burst.
func span(l *store.Limit, units int64) time.Duration {
	d, _ := exact.MulDiv(min(units, l.Max()), int64(l.Period), l.Rate)
	return time.Duration(d - d/catchUp)
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
