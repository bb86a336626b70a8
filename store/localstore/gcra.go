package localstore

import (
	"math"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// gcra keeps a theoretical arrival time (TAT): its whole microseconds are the
// instant at which a bucket is full, the rest is a fraction beside it.
type gcra struct {
	exact.Pace
	bucket bucket
	rem    int64 // over Den, what the TAT has beyond whole microseconds
	credit *credit
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
	// Slots are rounded up. A bucket that is full within the last microsecond
	// before one was not idle, or rounding would add up: so the booking is made
	// at the slot rounded down.
	t := g.tat()
	idle := t.Whole < floor
	switch {
	case !idle && g.credit.known():
		g.credit.pass(slot, t, g.Full)
	case keep:
		g.setCredit(credit{n: 1, graces: [mostGraces]grace{{slot, g.Full}}})
	default:
		g.setCredit(credit{})
	}
	if idle {
		g.rem = 0
	}
	more := exact.Micros{Rem: g.rem}.Plus(g.Span(cost), g.Den)
	g.bucket.take(floor, more.Whole)
	g.rem = more.Rem
}

// setCredit makes the credit another, which takes memory once for a bucket.
func (g *gcra) setCredit(c credit) {
	if g.credit == nil {
		if c.n == 0 {
			return
		}
		g.credit = new(credit)
	}
	*g.credit = c
}

// correct moves the instant at which the bucket is full. A bucket that is full,
// or was for a while, has forgotten the booking.
func (g *gcra) correct(c correction, after *snapshot) bool {
	t := g.tat()
	if t.Up() <= c.now || !g.credit.known() || g.credit.since() != after.credit.since() {
		return false
	}
	if c.to > c.from {
		t = t.Plus(g.Debt(c.to-c.from), g.Den)
		if most := c.now + g.Full.Whole + exact.MostDebt; t.Whole > most {
			t = exact.Micros{Whole: most}
		}
		g.setTAT(t)
		return true
	}
	back := g.Span(c.from - c.to)
	if !c.alone {
		back = g.credit.take(c.slot, back, g.Full, g.Den)
	}
	g.setTAT(t.Minus(back, g.Den))
	return back != exact.Micros{}
}

// adapted carries the share of the capacity that is used over to another limit,
// rounded up.
func (g *gcra) adapted(l *store.Limit, now int64) counting {
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

func (g *gcra) clamp(now int64, _ bool) {
	full := (exact.Micros{Whole: now}).Plus(g.Full, g.Den)
	if !full.Less(g.tat()) {
		g.setTAT(g.tat()) // The bucket may have been used later than it will be next.
		return
	}
	g.setTAT(full)
	g.setCredit(credit{})
}

// void takes what is known back of a bucket that is not full as well. What the
// others who are void have taken of it stays used.
func (g *gcra) void(now int64, units func(int64) int64) {
	if back := g.Debt(units(math.MaxInt64)); back.Whole < g.bucket.full {
		g.setTAT(g.tat().Minus(back, g.Den))
	}
	g.clamp(now, false)
}

func (g *gcra) lapse() int64 { return g.tat().Up() }

func (g *gcra) report(now int64) exact.Outcome {
	remaining, reset := g.View(g.tat(), now)
	return exact.Outcome{Viewed: true, Remaining: remaining, Reset: reset}
}

func (g *gcra) save() snapshot { return snapshot{tat: g.tat(), credit: g.credit.value()} }

func (g *gcra) restore(b *snapshot, _, _ int64) {
	g.setTAT(b.tat)
	g.setCredit(b.credit)
}
