package localstore

import (
	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/exact"
)

// window is the state of fixed and aligned windows and of sliding counters: the
// start of the last window, its units, and for counters those of the one
// before.
type window struct{ start, cur, prev int64 }

// slot is the earliest instant from b on with room in a fixed or aligned
// window.
func (w *window) slot(b, cost, rate, period int64) int64 {
	b = max(b, w.start)
	if w.cur+cost > rate && b < w.start+period {
		b = w.start + period
	}
	return b
}

// counterSlot is the earliest instant from b on at which
// prev·(period − elapsed) + (cur + cost)·period ≤ rate·period.
func (w *window) counterSlot(b, cost, rate, period int64) int64 {
	start, cur, prev := exact.Roll(exact.State{A: w.start, B: w.cur, C: w.prev}, period, b)
	b = max(b, start)
	room := rate - cur - cost
	if room < 0 {
		start, prev, room = start+period, cur, rate-cost
		b = start
	}
	if prev > room && exact.ProductLess(room, period, prev, period-(b-start)) {
		q, _ := exact.MulDiv(room, period, prev)
		b = start + period - q
	}
	return b
}

func (w *window) book(l *weir.Limit, slot, cost int64) {
	p := l.Period.Microseconds()
	switch {
	case l.Algorithm == weir.SlidingCounter:
		w.start, w.cur, w.prev = exact.Roll(exact.State{A: w.start, B: w.cur, C: w.prev}, p, slot)
	case w.cur == 0 || slot >= w.start+p:
		w.start, w.cur = slot, 0
		if l.Algorithm == weir.AlignedWindow {
			w.start = align(slot, p)
		}
	}
	w.cur += cost
}

func (w *window) unbook(l *weir.Limit, slot, cost int64) bool {
	was := *w
	p := l.Period.Microseconds()
	switch {
	case slot >= w.start+p:
	case slot >= w.start:
		w.cur = max(w.cur-cost, 0)
	case l.Algorithm == weir.SlidingCounter && slot >= w.start-p:
		w.prev = max(w.prev-cost, 0)
	}
	return *w != was
}

// adapt: units that were taken in the new limit's window count in it.
func (w *window) adapt(old, l *weir.Limit, now int64) {
	p := l.Period.Microseconds()
	switch {
	case l.Algorithm == weir.FixedWindow:
		w.start, w.cur = min(w.start, now+p), min(w.cur, l.Rate)
	case l.Algorithm == weir.AlignedWindow:
		start := align(now, p)
		if w.start < start {
			w.cur = 0
		}
		w.start, w.cur = min(max(start, align(w.start, p)), start+p), min(w.cur, l.Rate)
	case l.Period == old.Period:
		w.cur, w.prev = min(w.cur, l.Rate), min(w.prev, l.Rate)
	default:
		was := old.Period.Microseconds()
		began, cur, prev := exact.Roll(exact.State{A: w.start, B: w.cur, C: w.prev}, was, now)
		if prev > 0 {
			weight, _ := exact.MulDiv(prev, min(began+was-now, was), was)
			cur += weight + 1
		}
		*w = window{start: align(now, p)}
		if began >= w.start {
			w.cur = min(cur, l.Rate)
		}
	}
}

// align returns the start of the window of length p, counted from the Unix
// epoch, that holds t.
func align(t, p int64) int64 { return t - t%p }
