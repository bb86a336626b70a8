package dashboard

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// latencies counts durations in classes of an eighth of a power of two of microseconds,
// so quantiles are right within 9 %. It is safe for concurrent use.
type latencies [8 * 32]atomic.Int64

// snapshot is a copy of the counts.
type snapshot [8 * 32]int64

func (l *latencies) add(d time.Duration) { l[classOf(d)].Add(1) }

func (l *latencies) snapshot() (s snapshot) {
	for i := range l {
		s[i] = l[i].Load()
	}
	return s
}

// classOf returns the class of a duration: its highest bit, and the three bits after it.
func classOf(d time.Duration) int {
	us := uint64(max(d.Microseconds(), 1))
	top := bits.Len64(us) - 1
	rest := us << 3 >> top & 7
	return min(8*top+int(rest), len(latencies{})-1)
}

// middle returns the middle of a class, in ms.
func middle(class int) float64 {
	return float64(uint64(1)<<(class/8)) * (1 + (float64(class%8)+.5)/8) / 1000
}

// quantiles returns the number of durations between two copies, and their quantiles in
// ms. Without durations these are 0.
func quantiles(from, to *snapshot, q ...float64) (n int64, values []float64) {
	for i := range to {
		n += to[i] - from[i]
	}
	values = make([]float64, len(q))
	if n == 0 {
		return 0, values
	}
	for j, share := range q {
		rank := max(int64(share*float64(n)+.5), 1)
		seen := int64(0)
		for i := range to {
			if seen += to[i] - from[i]; seen >= rank {
				values[j] = middle(i)
				break
			}
		}
	}
	return n, values
}
