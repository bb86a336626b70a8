package simulate

import (
	"iter"
	"math"
	"math/rand/v2"
	"time"

	"github.com/goweir/weir/internal/exact"
)

// Shape is a kind of traffic.
type Shape uint8

// The shapes of patterns.
const (
	Constant Shape = iota // N calls per Period, evenly spaced
	Poisson               // as many on average, at random
	Bursts                // N calls at once each Period
	Ramp                  // from N to To calls per Period, evenly faster or slower
)

// Shapes are the names of the shapes.
var Shapes = [...]string{"constant", "poisson", "bursts", "ramp"}

// Pattern is traffic of one key. N and Period are above 0.
type Pattern struct {
	Shape  Shape
	N, To  int64
	Period time.Duration
}

// Calls estimates the number of calls.
func (p Pattern) Calls(length time.Duration) float64 {
	n := float64(p.N)
	if p.Shape == Ramp {
		n = float64(p.N+p.To) / 2
	}
	return n * float64(length) / float64(p.Period)
}

// Arrivals returns the calls from start on, for a time. Equal seeds give equal calls.
func (p Pattern) Arrivals(start int64, length time.Duration, seed uint64) iter.Seq[Arrival] {
	next := p.times(length, seed)
	return func(yield func(Arrival) bool) {
		for k := int64(0); ; k++ {
			at := next(k)
			if at >= length.Microseconds() || !yield(Arrival{At: start + at}) {
				return
			}
		}
	}
}

// times returns a function for the time of the k-th call. The conversions of products
// keep results alike on all processors.
func (p Pattern) times(length time.Duration, seed uint64) func(k int64) int64 {
	period, d := p.Period.Microseconds(), float64(length.Microseconds())
	switch p.Shape {
	case Poisson:
		random, at := rand.New(rand.NewPCG(seed, 1)), 0.0
		mean := float64(period) / float64(p.N)
		return func(int64) int64 {
			at += float64(random.ExpFloat64() * mean)
			return int64(at)
		}
	case Bursts:
		return func(k int64) int64 { return k / p.N * period }
	case Ramp:
		a, b := float64(p.N)/float64(period), float64(p.To)/float64(period)
		return func(k int64) int64 { return ramp(a, b, d, float64(k)) }
	}
	return func(k int64) int64 {
		at, _ := exact.MulDiv(k, period, p.N)
		return at
	}
}

// ramp returns the time at which k calls were made, if the rate goes from a to b in d:
// a·t + (b−a)·t²/2d = k.
func ramp(a, b, d, k float64) int64 {
	under := float64(a*a) + float64(2*float64(b-a)/d*k)
	switch {
	case k == 0:
		return 0
	case under < 0:
		return math.MaxInt64
	}
	return int64(min(2*k/(a+math.Sqrt(under)), 1<<62))
}
