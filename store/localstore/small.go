package localstore

import (
	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/exact"
)

// class is a limit in a scope, for all the small keys that have it.
type class struct {
	scope string
	limit weir.Limit // without its name
	most  int64      // of the limit
	// period is the limit's, in µs.
	period int64
	pace   exact.Pace // of GCRA
	one    exact.Micros
	whole  bool // of GCRA: a unit takes whole microseconds
}

// mostClasses is the most limits, in their scopes, that a shard keeps small keys
// of at once: few, as they are searched through for each new key.
const mostClasses = 32

// isSmall reports whether the state of a limit can be that of a small key: that
// of a sliding window grows.
func isSmall(l *weir.Limit) bool { return l.Algorithm != weir.SlidingWindow }

func newClass(scope string, l *weir.Limit) *class {
	c := &class{scope: scope, limit: *l, most: l.Max(), period: l.Period.Microseconds()}
	c.limit.Name = ""
	if l.Algorithm == weir.GCRA {
		c.pace = exact.PaceOf(l)
		c.one = c.pace.Span(1)
		c.whole = c.pace.Den == 1
	}
	return c
}

// is reports whether a class is that of a limit, whose scope is right.
func (c *class) is(l *weir.Limit) bool {
	return c.limit.Rate == l.Rate && c.limit.Period == l.Period && c.most == l.Max() && c.limit.Algorithm == l.Algorithm
}

func (c *class) fixed(st *exact.State) fixed {
	return fixed{rate: c.limit.Rate, period: c.period, aligned: c.limit.Algorithm == weir.AlignedWindow, start: st.A, units: st.B}
}

func (c *class) counter(st *exact.State) counter {
	return counter{rate: c.limit.Rate, period: c.period, start: st.A, cur: st.B, prev: st.C}
}

func (c *class) span(n int64) exact.Micros {
	if n == 1 {
		return c.one
	}
	return c.pace.Span(n)
}

// slot is what counting.slot is, rounded up alone.
func (c *class) slot(st *exact.State, now, cost int64) int64 {
	switch c.limit.Algorithm {
	case weir.GCRA:
		t := exact.Micros{Whole: st.A, Rem: st.B}.Plus(c.span(cost), c.pace.Den).Minus(c.pace.Full, c.pace.Den)
		if t.Whole < now {
			return now
		}
		return t.Up()
	case weir.SlidingCounter:
		w := c.counter(st)
		_, slot := w.slot(now, cost)
		return slot
	}
	now = max(now, st.A)
	if end := st.A + c.period; st.B+cost > c.limit.Rate && now < end {
		return end
	}
	return now
}

// book takes cost units now.
func (c *class) book(st *exact.State, now, cost int64) {
	switch c.limit.Algorithm {
	case weir.GCRA:
		t := exact.Micros{Whole: st.A, Rem: st.B}
		if t.Whole < now {
			t = exact.Micros{Whole: now}
		}
		t = t.Plus(c.span(cost), c.pace.Den)
		st.A, st.B = t.Whole, t.Rem
	case weir.SlidingCounter:
		st.A, st.B, st.C = exact.Roll(*st, c.period, now)
		st.B += cost
	default:
		if st.B == 0 || now >= st.A+c.period {
			if st.A, st.B = now, 0; c.limit.Algorithm == weir.AlignedWindow {
				st.A = align(now, c.period)
			}
		}
		st.B += cost
	}
}

// view is exact.View.
func (c *class) view(st *exact.State, now int64) (remaining, reset int64) {
	switch c.limit.Algorithm {
	case weir.GCRA:
		return c.pace.View(exact.Micros{Whole: st.A, Rem: st.B}, now)
	case weir.SlidingCounter:
		return exact.View(&c.limit, *st, now)
	}
	if reset = st.A + c.period - now; st.B == 0 || reset <= 0 {
		return c.limit.Rate, 0
	}
	return max(c.limit.Rate-st.B, 0), reset
}

// lapse is what counting.lapse is.
func (c *class) lapse(st *exact.State) int64 {
	switch c.limit.Algorithm {
	case weir.GCRA:
		return exact.Micros{Whole: st.A, Rem: st.B}.Up()
	case weir.SlidingCounter:
		w := c.counter(st)
		return w.lapse()
	}
	w := c.fixed(st)
	return w.lapse()
}

// counting returns the state as one of its own.
func (c *class) counting(st *exact.State) counting {
	switch c.limit.Algorithm {
	case weir.GCRA:
		g := newGCRA(c.pace)
		g.setTAT(exact.Micros{Whole: st.A, Rem: st.B})
		return g
	case weir.SlidingCounter:
		w := c.counter(st)
		return &w
	}
	w := c.fixed(st)
	return &w
}

// entry returns a small key as an entry, which it is not any more.
func (c *class) entry(k id, st *exact.State) *entry {
	e := &entry{id: k}
	e.states = append(e.one[:0], state{c.limit, c.counting(st)})
	e.settle()
	return e
}
