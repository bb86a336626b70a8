package simulate

import (
	"math/bits"
	"time"
)

// histogram counts waits in buckets: up to 127 µs one each, above 64 for each power of
// two.
type histogram struct {
	buckets [59 * 64]int64
	total   int64
	max     int64
}

func (h *histogram) add(micros int64) {
	shift := max(bits.Len64(uint64(micros))-7, 0)
	h.buckets[shift*64+int(micros>>shift)]++
	h.total++
	h.max = max(h.max, micros)
}

// percentile returns a wait that p percent of the waits do not exceed.
func (h *histogram) percentile(p int64) time.Duration {
	rank, seen := (h.total*p+99)/100, int64(0)
	for i, n := range h.buckets {
		if seen += n; n > 0 && seen >= rank {
			shift := max(i/64-1, 0)
			top := (int64(i-shift*64)+1)<<shift - 1
			return time.Duration(min(top, h.max)) * time.Microsecond
		}
	}
	return 0
}
