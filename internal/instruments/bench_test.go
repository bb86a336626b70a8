package instruments_test

import (
	"strconv"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/instruments"
)

// BenchmarkGet gets the last of some keys.
func BenchmarkGet(b *testing.B) {
	for _, keys := range []int64{1, 4, 64} {
		b.Run(strconv.FormatInt(keys, 10)+" keys", func(b *testing.B) {
			s := instruments.NewSeries(64, func(weir.Limit) *int { return new(int) }, nil)
			for i := range keys {
				s.Get(weir.PerSecond(i + 1))
			}
			last := weir.PerSecond(keys)
			b.ReportAllocs()
			for b.Loop() {
				s.Get(last)
			}
		})
	}
}
