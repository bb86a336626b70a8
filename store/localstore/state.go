package localstore

import (
	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/exact"
)

func (s *state) fresh() {
	switch s.limit.Algorithm {
	case weir.GCRA:
		s.gcra = newGCRA(&s.limit)
	case weir.SlidingWindow:
		s.log = new(log)
	}
}

// adapt carries what was used under another limit of the same algorithm over
// to s.limit.
func (s *state) adapt(old *weir.Limit, now int64) {
	switch s.limit.Algorithm {
	case weir.GCRA:
		s.gcra = s.gcra.adapt(old, &s.limit, now)
	case weir.SlidingWindow:
		s.log.expire(now - s.period())
	default:
		s.win.adapt(old, &s.limit, now)
	}
}

// slot returns the earliest instant from b on at which the limit admits cost
// units, rounded down and up.
func (s *state) slot(b, cost int64) (floor, ceil int64) {
	switch s.limit.Algorithm {
	case weir.GCRA:
		return s.gcra.slot(b, cost)
	case weir.SlidingWindow:
		b = s.log.slot(b, cost, s.limit.Rate, s.period())
	case weir.SlidingCounter:
		b = s.win.counterSlot(b, cost, s.limit.Rate, s.period())
	default:
		b = s.win.slot(b, cost, s.limit.Rate, s.period())
	}
	return b, b
}

// book takes cost units at a slot, which is rounded down and up.
func (s *state) book(floor, ceil, cost, now int64, keep bool) {
	switch s.limit.Algorithm {
	case weir.GCRA:
		s.gcra.book(floor, ceil, cost, now, keep)
	case weir.SlidingWindow:
		s.log.expire(now - s.period())
		s.log.add(ceil, cost)
	default:
		s.win.book(&s.limit, ceil, cost)
	}
}

// unbook takes cost units that were booked at slot back, as far as it can, and
// reports whether that changed anything.
func (s *state) unbook(slot, cost int64) bool {
	switch s.limit.Algorithm {
	case weir.GCRA:
		return s.gcra.unbook(slot, cost)
	case weir.SlidingWindow:
		return s.log.remove(slot, cost)
	}
	return s.win.unbook(&s.limit, slot, cost)
}

// lapse returns the instant from which the state is as if never used.
func (s *state) lapse() int64 {
	switch s.limit.Algorithm {
	case weir.GCRA:
		return s.gcra.lapse()
	case weir.SlidingWindow:
		if s.log.newest == 0 {
			return 0
		}
		return s.log.newest + s.period()
	case weir.SlidingCounter:
		return s.win.start + 2*s.period()
	}
	return s.win.start + s.period()
}

// view returns the state for reporting.
func (s *state) view(now int64) exact.State {
	switch s.limit.Algorithm {
	case weir.SlidingWindow:
		return exact.State{A: s.log.live(now - s.period()), B: s.log.newest}
	default:
		return exact.State{A: s.win.start, B: s.win.cur, C: s.win.prev}
	}
}
