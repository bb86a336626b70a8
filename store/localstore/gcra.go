package localstore

import (
	"math"
	"time"

	"golang.org/x/time/rate"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/exact"
)

// gcra is a token bucket of golang.org/x/time/rate. Its tokens are floating
// point: an instant is met within near nanoseconds, which counts as reached.
type gcra struct {
	bucket *rate.Limiter
	unit   float64 // emission interval in ns
	burst  float64
	near   float64 // ns
	at     int64   // µs; the bucket has been advanced to here
	// How far the bucket was from full at every booking since it last was, and
	// when that was: what a cancel can give back. Kept while bookings may be
	// cancelled.
	tracked bool
	slack   float64 // ns
	full    int64   // µs
}

func newGCRA(l *weir.Limit) *gcra {
	g := &gcra{
		bucket: rate.NewLimiter(rate.Limit(float64(l.Rate)/l.Period.Seconds()), int(l.Max())),
		unit:   float64(l.Period) / float64(l.Rate),
		burst:  float64(l.Max()),
	}
	g.near = 5 + g.unit*g.burst*4e-16
	return g
}

// tokens returns what the bucket holds at an instant; less than 0 when slots
// are booked ahead.
func (g *gcra) tokens(at int64) float64 {
	if at >= g.at {
		return g.bucket.TokensAt(time.UnixMicro(at))
	}
	return g.bucket.TokensAt(time.UnixMicro(g.at)) - float64(g.at-at)*1000/g.unit
}

// ahead returns how long after an instant the bucket is full, in ns; 0 if it is.
func (g *gcra) ahead(at int64) float64 {
	if d := (g.burst - g.tokens(at)) * g.unit; d > g.near {
		return d
	}
	return 0
}

func (g *gcra) slot(b, cost int64) (floor, ceil int64) {
	wait := (float64(cost) - g.tokens(b)) * g.unit
	if wait <= g.near {
		return b, b
	}
	return b + int64(math.Floor((wait+g.near)/1000)), b + int64(math.Ceil((wait-g.near)/1000))
}

func (g *gcra) book(floor, ceil, cost, now int64, keep bool) {
	ahead := g.ahead(ceil)
	switch {
	case !keep && (!g.tracked || ahead == 0):
		g.tracked = false
	case g.tracked && ahead > 0:
		g.slack = min(g.slack, ahead)
	default:
		g.tracked, g.slack, g.full = true, g.burst*g.unit, ceil
	}
	// Slots are rounded up. A bucket that is full within the last microsecond
	// before one was not idle, or rounding would add up: so the booking is made
	// at the slot rounded down.
	g.at = max(g.at, floor)
	g.bucket.ReserveN(time.UnixMicro(g.at), int(cost))
}

func (g *gcra) unbook(slot, cost int64) bool {
	back := min(float64(cost)*g.unit, g.slack)
	if !g.tracked || g.full > slot || back <= g.near {
		return false
	}
	g.slack -= back
	g.set((g.burst-g.tokens(g.at))*g.unit - back)
	return true
}

// set makes the bucket full ahead ns after g.at.
func (g *gcra) set(ahead float64) {
	b := rate.NewLimiter(g.bucket.Limit(), g.bucket.Burst())
	if ahead > 0 {
		// Whole tokens only can be taken: take more, earlier.
		n := math.Ceil(ahead / g.unit)
		at := time.UnixMicro(g.at).Add(-time.Duration(n*g.unit - ahead))
		for ; n > 0; n -= g.burst {
			b.ReserveN(at, int(min(n, g.burst)))
		}
		g.at = max(g.at, at.UnixMicro())
	}
	g.bucket = b
}

func (g *gcra) copy(l *weir.Limit) *gcra {
	c := newGCRA(l)
	c.at = g.at
	c.set((g.burst - g.tokens(g.at)) * g.unit)
	return c
}

// adapt returns the bucket of another limit with the same share used, rounded
// up.
func (g *gcra) adapt(old, l *weir.Limit, now int64) *gcra {
	n := newGCRA(l)
	n.at = now
	used := int64(g.ahead(now)/1000) + 1
	was, full := capacity(old), capacity(l)
	switch {
	case used == 1 && g.ahead(now) == 0:
	case used >= was.Whole:
		n.set(n.burst * n.unit)
	default:
		d, _ := exact.MulDiv(used, full.Whole, was.Whole)
		n.set(float64(min(d+1, full.Whole)) * 1000)
	}
	return n
}

func capacity(l *weir.Limit) exact.Micros {
	num, den := exact.Emission(l)
	return exact.Span(l.Max(), num, den)
}

func (g *gcra) lapse() int64 {
	return g.at + int64(math.Ceil(g.ahead(g.at)/1000))
}

// view returns what is remaining at an instant, and after how many microseconds
// the bucket is full.
func (g *gcra) view(now int64) (remaining, reset int64) {
	left := g.tokens(now) + g.near/g.unit
	return int64(min(max(math.Floor(left), 0), g.burst)), int64(math.Ceil((g.ahead(now) - g.near) / 1000))
}
