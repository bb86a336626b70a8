package localstore

import (
	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// fixed is a fixed or an aligned window: the last one that was opened, and its
// units.
type fixed struct {
	rate, period int64
	aligned      bool
	start, units int64
	lost         int64 // see lose
	// present is the window until the last one, if that is still to come: it is it
	// again when nobody comes. first is where the first window after it starts.
	present exact.State
	first   int64
}

// opens returns where a window starts that is opened at an instant.
func (w *fixed) opens(at int64) int64 {
	if w.aligned {
		return align(at, w.period)
	}
	return at
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
		present := w.start <= now
		if present {
			w.present = w.state()
		}
		w.start, w.units, w.lost = w.opens(slot), 0, 0
		if present {
			w.first = w.start
		}
	}
	w.units += cost
}

func (w *fixed) correct(c correction, _ *snapshot) bool {
	if p := &w.present; w.start > c.now && c.slot >= p.A && c.slot < min(p.A+w.period, w.first) && c.now < p.A+w.period {
		p.B = c.units(p.B)
		return true
	}
	if end := w.start + w.period; c.slot < w.start || c.slot >= end || c.now >= end {
		return c.lose(&w.lost, w.start, c.slot+w.period)
	}
	w.units = c.units(w.units)
	return true
}

// adapted: units count in an aligned window if they were taken in it.
func (w *fixed) adapted(l *store.Limit, now int64) counting {
	n := &fixed{rate: l.Rate, period: l.Period.Microseconds(), aligned: w.aligned}
	was, ahead := *w, int64(0)
	if w.start > now {
		ahead = w.units
		was.clamp(now, false)
	}
	n.start, n.units = was.start, was.units
	if n.aligned {
		n.start = align(now, n.period)
		if was.start < n.start {
			n.units = 0
		}
	}
	n.units = min(n.units+ahead, n.rate)
	return n
}

func (w *fixed) clamp(now int64, counts bool) {
	if w.start <= now {
		return
	}
	ahead := int64(0)
	if counts {
		ahead = w.units
	}
	switch p := w.present; {
	case p.B > 0 && now < p.A+w.period:
		w.start, w.units = p.A, p.B
	case now >= w.first:
		w.start, w.units = w.opens(w.between(now)), w.rate
	default:
		w.start, w.units = w.opens(now), 0
	}
	w.units, w.lost = min(w.units+ahead, max(w.units, w.rate)), 0
}

// void takes what is booked for later in the present window back as well.
func (w *fixed) void(now int64, units func(int64) int64) {
	w.clamp(now, false)
	w.units = max(w.units-units(w.start+w.period), 0)
}

// between returns where one of the windows between the present one and the last
// starts. Where one follows another it is full, and when it ends is known of the
// first and the last but one.
func (w *fixed) between(now int64) int64 {
	switch {
	case now < w.first+w.period:
		return w.first
	case now >= w.start-w.period:
		return w.start - w.period
	}
	return now
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
	return snapshot{window: w.state(), lost: w.lost, present: w.present, first: w.first}
}

func (w *fixed) restore(b *snapshot, _, _ int64) {
	w.start, w.units, w.lost, w.present, w.first = b.window.A, b.window.B, b.lost, b.present, b.first
}

// align returns the start of the window of length p, counted from the Unix
// epoch, that holds t.
func align(t, p int64) int64 { return t - t%p }
