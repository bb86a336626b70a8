package localstore

import (
	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/product"
	"github.com/goweir/weir/store"
)

// counter is a sliding counter: the start of the last window, its units, and
// those of the one before.
type counter struct {
	rate, period     int64
	start, cur, prev int64
	lost             int64 // see lose
	// present is the state from before the last window was one still to come. first
	// is the start of the first window after it.
	present exact.State
	first   int64
}

func (w *counter) state() exact.State { return exact.State{A: w.start, B: w.cur, C: w.prev} }

// slot is the earliest instant from b on at which
// prev·(period − elapsed) + (cur + cost)·period ≤ rate·period.
func (w *counter) slot(b, cost int64) (floor, slot int64) {
	start, cur, prev := exact.Roll(w.state(), w.period, b)
	b = max(b, start)
	room := w.rate - cur - cost
	if room < 0 {
		start, prev, room = start+w.period, cur, w.rate-cost
		b = start
	}
	if prev > room && product.Compare(room, w.period, prev, w.period-(b-start)) < 0 {
		q, _ := exact.MulDiv(room, w.period, prev)
		b = start + w.period - q
	}
	return b, b
}

func (w *counter) book(_, slot, cost, now int64, _ bool) {
	start, cur, prev := exact.Roll(w.state(), w.period, slot)
	if slot >= w.start+w.period {
		w.lost = 0
		if now < w.start+2*w.period {
			start = w.window(slot)
		}
		if w.start <= now {
			w.present, w.first = w.state(), start
		}
	}
	w.start, w.cur, w.prev = start, cur+cost, prev
}

// window returns where the window starts that holds t. As long as units count that
// another store told of (see seed), its clock says where windows start.
func (w *counter) window(t int64) int64 {
	into := (t - w.start) % w.period
	if into < 0 {
		into += w.period
	}
	return t - into
}

func (w *counter) correct(c correction, _ *snapshot) bool {
	window := w.window(c.slot)
	var units *int64
	switch {
	case window == w.start:
		units = &w.cur
	case window == w.start-w.period:
		units = &w.prev
	case w.start > c.now && window == w.present.A:
		units = &w.present.B
	case w.start > c.now && window == w.present.A-w.period:
		units = &w.present.C
	}
	if over := window + 2*w.period; units == nil || c.now >= over {
		return c.lose(&w.lost, w.start-w.period, over)
	}
	*units = c.units(*units)
	return true
}

// adapted: with another period, the units that weigh now count in the new
// window if they were taken in it.
func (w *counter) adapted(l *store.Limit, now int64) counting {
	n := &counter{rate: l.Rate, period: l.Period.Microseconds()}
	was, ahead := *w, int64(0)
	if w.start > now {
		ahead = w.cur
		was.clamp(now, false)
	}
	if n.period == w.period {
		n.start, n.cur, n.prev = was.start, min(was.cur+ahead, n.rate), min(was.prev, n.rate)
		return n
	}
	n.start = align(now, n.period)
	began, cur, prev := exact.Roll(was.state(), w.period, now)
	if prev > 0 {
		weight, _ := exact.MulDiv(min(prev, w.rate), min(began+w.period-now, w.period), w.period)
		cur += weight + 1
	}
	if began < n.start {
		cur = 0
	}
	n.cur = min(cur+ahead, n.rate)
	return n
}

func (w *counter) clamp(now int64, counts bool) {
	start := w.window(now)
	if w.start <= start {
		return
	}
	ahead := int64(0)
	if counts {
		ahead = w.cur
	}
	w.start, w.cur, w.prev = start, w.units(start), w.units(start-w.period)
	w.cur = min(w.cur+ahead, max(w.cur, w.rate))
}

func (w *counter) void(now int64, units func(int64) int64) {
	w.clamp(now, false)
	w.cur = max(w.cur-units(w.start+w.period), 0)
}

// units returns those of a window before the last one; all there can be of one
// between that and the present one.
func (w *counter) units(start int64) int64 {
	switch {
	case start == w.start-w.period:
		return w.prev
	case start == w.present.A:
		return w.present.B
	case start == w.present.A-w.period:
		return w.present.C
	case start < w.first:
		return 0
	}
	return w.rate
}

func (w *counter) lapse() int64 {
	switch {
	case w.cur > 0:
		return w.start + 2*w.period
	case w.prev > 0:
		return w.start + w.period
	}
	return 0
}

func (w *counter) report(int64) exact.Outcome { return exact.Outcome{State: w.state()} }

func (w *counter) save() snapshot {
	return snapshot{window: w.state(), lost: w.lost, present: w.present, first: w.first}
}

func (w *counter) restore(b *snapshot, _, _ int64) {
	w.start, w.cur, w.prev, w.lost = b.window.A, b.window.B, b.window.C, b.lost
	w.present, w.first = b.present, b.first
}
