package localstore

import (
	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// rule is a limit, and what of it is worked out once for all the small keys that
// have it.
type rule struct {
	limit store.Limit // without its name
	most  int64       // of the limit
	// period is the limit's, in µs.
	period int64
	pace   exact.Pace // of GCRA
	one    exact.Micros
	whole  bool // of GCRA: a unit takes whole microseconds
}

// isSmall reports whether the state of a limit can be that of a small key: that
// of a sliding window grows.
func isSmall(l *store.Limit) bool { return l.Algorithm != store.SlidingWindow }

func newRule(l *store.Limit) rule {
	r := rule{limit: *l, most: l.Max(), period: l.Period.Microseconds()}
	r.limit.Name = ""
	if l.Algorithm == store.GCRA {
		r.pace = exact.PaceOf(l)
		r.one = r.pace.Span(1)
		r.whole = r.pace.Den == 1
	}
	return r
}

// counts reports whether a rule is that of a limit.
func (r *rule) counts(l *store.Limit) bool {
	return r.limit.Rate == l.Rate && r.limit.Period == l.Period && r.most == l.Max() && r.limit.Algorithm == l.Algorithm
}

func (r *rule) fixed(st *exact.State) fixed {
	return fixed{rate: r.limit.Rate, period: r.period, aligned: r.limit.Algorithm == store.AlignedWindow, start: st.A, units: st.B}
}

func (r *rule) counter(st *exact.State) counter {
	return counter{rate: r.limit.Rate, period: r.period, start: st.A, cur: st.B, prev: st.C}
}

func (r *rule) span(n int64) exact.Micros {
	if n == 1 {
		return r.one
	}
	return r.pace.Span(n)
}

// slot is what counting.slot is, rounded up alone.
func (r *rule) slot(st *exact.State, now, cost int64) int64 {
	switch r.limit.Algorithm {
	case store.GCRA:
		t := exact.Micros{Whole: st.A, Rem: st.B}.Plus(r.span(cost), r.pace.Den).Minus(r.pace.Full, r.pace.Den)
		if t.Whole < now {
			return now
		}
		return t.Up()
	case store.SlidingCounter:
		w := r.counter(st)
		_, slot := w.slot(now, cost)
		return slot
	}
	now = max(now, st.A)
	if end := st.A + r.period; st.B+cost > r.limit.Rate && now < end {
		return end
	}
	return now
}

// book takes cost units now.
func (r *rule) book(st *exact.State, now, cost int64) {
	switch r.limit.Algorithm {
	case store.GCRA:
		t := exact.Micros{Whole: st.A, Rem: st.B}
		if t.Whole < now {
			t = exact.Micros{Whole: now}
		}
		t = t.Plus(r.span(cost), r.pace.Den)
		st.A, st.B = t.Whole, t.Rem
	case store.SlidingCounter:
		st.A, st.B, st.C = exact.Roll(*st, r.period, now)
		st.B += cost
	default:
		if st.B == 0 || now >= st.A+r.period {
			if st.A, st.B = now, 0; r.limit.Algorithm == store.AlignedWindow {
				st.A = align(now, r.period)
			}
		}
		st.B += cost
	}
}

// view is exact.View.
func (r *rule) view(st *exact.State, now int64) (remaining, reset int64) {
	switch r.limit.Algorithm {
	case store.GCRA:
		return r.pace.View(exact.Micros{Whole: st.A, Rem: st.B}, now)
	case store.SlidingCounter:
		return exact.View(&r.limit, *st, now)
	}
	if reset = st.A + r.period - now; st.B == 0 || reset <= 0 {
		return r.limit.Rate, 0
	}
	return max(r.limit.Rate-st.B, 0), reset
}

// lapse is what counting.lapse is.
func (r *rule) lapse(st *exact.State) int64 {
	switch r.limit.Algorithm {
	case store.GCRA:
		return exact.Micros{Whole: st.A, Rem: st.B}.Up()
	case store.SlidingCounter:
		w := r.counter(st)
		return w.lapse()
	}
	w := r.fixed(st)
	return w.lapse()
}

// counting returns the state as one of its own.
func (r *rule) counting(st *exact.State) counting {
	switch r.limit.Algorithm {
	case store.GCRA:
		g := newGCRA(r.pace)
		g.setTAT(exact.Micros{Whole: st.A, Rem: st.B})
		return g
	case store.SlidingCounter:
		w := r.counter(st)
		return &w
	}
	w := r.fixed(st)
	return &w
}
