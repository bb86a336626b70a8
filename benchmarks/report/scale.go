package report

import (
	"math"

	"github.com/goweir/weir/internal/svg"
)

// scale maps values to lengths.
type scale interface {
	At(v float64) float64
	Ticks() []float64
}

// newScale returns a scale that has room for all values.
func newScale(values []float64, log bool, length float64) scale {
	if !log {
		return svg.NewScale(values, length)
	}
	low, high := math.Inf(1), 0.0
	for _, v := range values {
		if high = math.Max(high, v); v > 0 {
			low = math.Min(low, v)
		}
	}
	if high == 0 {
		low, high = 0.1, 1
	}
	return logScale{math.Pow(10, math.Floor(math.Log10(low))), high, length}
}

// logScale is logarithmic. It starts at the power of ten below the least value.
type logScale struct{ low, high, length float64 }

func (s logScale) At(v float64) float64 {
	if v <= s.low {
		return 0
	}
	return s.length * math.Log(v/s.low) / math.Log(s.high/s.low)
}

func (s logScale) Ticks() (ticks []float64) {
	for v := s.low; v <= s.high; v *= 10 {
		ticks = append(ticks, v)
	}
	return ticks
}
