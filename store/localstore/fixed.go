package localstore

import (
	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/exact"
)

// fixed is a fixed or an aligned window: the last one that was opened, and its
// units.
type fixed struct {
	rate, period int64
	aligned      bool
	start, units int64
	lost         int64 // see lose
	// present is the window until the last one, if that is still to come: it is it
	// again when nobody comes.
	present exact.State
}

func (w *fixed) slot(b, cost int64) (floor, slot int64) {
	b = max(b, w.start)
	if w.units+cost > w.rate && b < w.start+w.period {
		b = w.start + w.period
	}
	return b, b
}

func (w *fixed) book(_, slot, cost, now int64, _ bool) {
	if w.units == 0 || slot >= w.start+w.period {
		if w.start <= now {
			w.present = w.state()
		}
		w.start, w.units, w.lost = slot, 0, 0
		if w.aligned {
			w.start = align(slot, w.period)
		}
	}
	w.units += cost
}

func (w *fixed) correct(c correction, _ *snapshot) bool {
	if end := w.start + w.period; c.slot < w.start || c.slot >= end || c.now >= end {
		return c.lose(&w.lost, w.start, c.slot+w.period)
	}
	w.units = c.units(w.units)
	return true
}

// adapted: units count in an aligned window if they were taken in it.
func (w *fixed) adapted(l *weir.Limit, now int64) counting {
	n := &fixed{rate: l.Rate, period: l.Period.Microseconds(), aligned: w.aligned}
	n.start, n.units = w.start, min(w.units, l.Rate)
	if n.aligned {
		n.start = align(w.start, n.period)
		if first := align(now, n.period); w.start < first {
			n.start, n.units = first, 0
		}
	}
	return n
}

func (w *fixed) clamp(now int64) {
	if p := w.present; w.start > now && p.B > 0 && now < p.A+w.period {
		w.start, w.units = p.A, p.B
		return
	}
	if w.aligned {
		now = align(now, w.period)
	}
	w.start = min(w.start, now)
}

func (w *fixed) lapse() int64 {
	if w.units == 0 {
		return 0
	}
	return w.start + w.period
}

func (w *fixed) state() exact.State { return exact.State{A: w.start, B: w.units} }

func (w *fixed) report(int64) exact.Outcome { return exact.Outcome{State: w.state()} }

func (w *fixed) save() snapshot {
	return snapshot{window: w.state(), lost: w.lost, present: w.present}
}

func (w *fixed) restore(b *snapshot, _, _ int64) {
	w.start, w.units, w.lost, w.present = b.window.A, b.window.B, b.lost, b.present
}

// align returns the start of the window of length p, counted from the Unix
// epoch, that holds t.
func align(t, p int64) int64 { return t - t%p }
