package measure

import (
	"math/bits"
	"time"
)

// histogram counts durations in buckets that are less than 1 % wide.
type histogram struct {
	counts [35 * 128]uint32
	total  uint64
}

func bucketOf(d time.Duration) int {
	v := uint64(max(d, 0))
	shift := max(bits.Len64(v)-8, 0)
	return min(shift*128+int(v>>shift), len(histogram{}.counts)-1)
}

// middle returns the duration in the middle of a bucket.
func middle(bucket int) time.Duration {
	if bucket < 256 {
		return time.Duration(bucket)
	}
	shift := bucket/128 - 1
	low := uint64(bucket-shift*128) << shift
	return time.Duration(low + 1<<shift/2)
}

func (h *histogram) add(d time.Duration) {
	h.counts[bucketOf(d)]++
	h.total++
}

func (h *histogram) join(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
}

// quantile returns the duration that a share of the calls did not exceed.
func (h *histogram) quantile(share float64) time.Duration {
	below := uint64(share * float64(h.total))
	var seen uint64
	for i, n := range h.counts {
		if seen += uint64(n); seen > below {
			return middle(i)
		}
	}
	return 0
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
