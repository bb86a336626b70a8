package localstore

import (
	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/exact"
)

// gcra keeps a theoretical arrival time (TAT): its whole microseconds are the
// instant at which a bucket is full, the rest is a fraction beside it.
type gcra struct {
	exact.Pace
	bucket bucket
	rem    int64 // over Den, what the TAT has beyond whole microseconds
	credit credit
}

// credit is what a cancel can give back without admitting too much: how far the
// bucket was from full at every booking since it last was full, and when that
// was. It is known while bookings may be cancelled.
type credit struct {
	known bool
	slack exact.Micros
	full  int64
}

func newGCRA(p exact.Pace) *gcra {
	g := &gcra{Pace: p}
	g.bucket.init(p.Full.Whole + 4) // More than is ever taken from it at once.
	return g
}

func (g *gcra) tat() exact.Micros { return exact.Micros{Whole: g.bucket.full, Rem: g.rem} }

func (g *gcra) setTAT(t exact.Micros) {
	g.bucket.setFull(t.Whole)
	g.rem = t.Rem
}

func (g *gcra) slot(b, cost int64) (floor, slot int64) {
	t := g.tat().Plus(g.Span(cost), g.Den).Minus(g.Full, g.Den)
	if t.Whole < b {
		return b, b
	}
	return t.Whole, t.Up()
}

func (g *gcra) book(floor, slot, cost, _ int64, keep bool) {
	t := g.tat()
	ahead := t
	ahead.Whole -= slot
	full := !exact.Micros{}.Less(ahead)
	switch {
	case !keep && (full || !g.credit.known):
		g.credit = credit{}
	case full || !g.credit.known:
		g.credit = credit{known: true, slack: g.Full, full: slot}
	case ahead.Less(g.credit.slack):
		g.credit.slack = ahead
	}
	if t.Whole < floor {
		g.rem = 0
	}
	more := exact.Micros{Rem: g.rem}.Plus(g.Span(cost), g.Den)
	// Slots are rounded up. A bucket that is full within the last microsecond
	// before one was not idle, or rounding would add up: so the booking is made
	// at the slot rounded down.
	g.bucket.take(floor, more.Whole)
	g.rem = more.Rem
}

func (g *gcra) unbook(slot, cost, _ int64) bool {
	c := &g.credit
	if !c.known || c.full > slot || c.slack == (exact.Micros{}) {
		return false
	}
	back := g.Span(cost)
	if c.slack.Less(back) {
		back = c.slack
	}
	c.slack = c.slack.Minus(back, g.Den)
	g.setTAT(g.tat().Minus(back, g.Den))
	return true
}

// adapted carries the share of the capacity that is used over to another limit,
// rounded up.
func (g *gcra) adapted(l *weir.Limit, now int64) counting {
	n := newGCRA(exact.PaceOf(l))
	t := exact.Micros{Whole: now}
	switch used := g.tat().Whole + 1 - now; {
	case used <= 0:
	case used >= g.Full.Whole:
		t = t.Plus(n.Full, n.Den)
	default:
		d, _ := exact.MulDiv(used, n.Full.Whole, g.Full.Whole)
		t.Whole += min(d+1, n.Full.Whole)
	}
	n.setTAT(t)
	return n
}

func (g *gcra) clamp(now int64) {
	full := (exact.Micros{Whole: now}).Plus(g.Full, g.Den)
	if !full.Less(g.tat()) {
		g.setTAT(g.tat()) // The bucket may have been used later than it will be next.
		return
	}
	g.setTAT(full)
	g.credit = credit{}
}

func (g *gcra) lapse() int64 { return g.tat().Up() }

func (g *gcra) report(now int64) exact.Outcome {
	remaining, reset := g.View(g.tat(), now)
	return exact.Outcome{Viewed: true, Remaining: remaining, Reset: reset}
}

func (g *gcra) save() snapshot { return snapshot{tat: g.tat(), credit: g.credit} }

func (g *gcra) restore(b *snapshot, _, _ int64) {
	g.setTAT(b.tat)
	g.credit = b.credit
}
