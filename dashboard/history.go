package dashboard

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// historySeconds is the length of the charts.
const historySeconds = 900

// second holds the values of one second. Gauges are negative while unknown.
type second struct {
	admitted, refused  int64
	waiting            int64
	p50, p99           float64 // ms
	fleet, paused      int64
	latency            float64 // ms
	fromHook, fromRead bool
}

// history keeps the last seconds. It is not safe for concurrent use.
type history struct {
	ring  [historySeconds]second
	first int64 // Unix time of the first second; 0: none
	next  int64 // the second after the last
}

// put stores the values of a second. Seconds between the last one and this one are empty.
func (h *history) put(at int64, s second) {
	if h.first == 0 {
		h.first, h.next = at, at
	}
	h.next = max(h.next, at-historySeconds)
	for ; h.next < at; h.next++ {
		h.ring[h.next%historySeconds] = second{}
	}
	h.ring[at%historySeconds] = s
	h.next = at + 1
}

// since returns the seconds from an instant on. hook and read choose the columns.
func (h *history) since(from int64, hook, read bool) points {
	p := points{Time: []int64{}}
	from = max(from, h.first, h.next-historySeconds)
	for at := from; at < h.next; at++ {
		s := &h.ring[at%historySeconds]
		p.Time = append(p.Time, at)
		if hook {
			p.Admitted = append(p.Admitted, known(float64(s.admitted), s.fromHook))
			p.Refused = append(p.Refused, known(float64(s.refused), s.fromHook))
			p.Waiting = append(p.Waiting, known(float64(s.waiting), s.fromHook))
			p.P50 = append(p.P50, known(s.p50, s.p50 > 0))
			p.P99 = append(p.P99, known(s.p99, s.p99 > 0))
		}
		if read {
			p.Fleet = append(p.Fleet, known(float64(s.fleet), s.fromRead))
			p.Paused = append(p.Paused, known(float64(s.paused), s.fromRead))
			p.Latency = append(p.Latency, known(s.latency, s.fromRead))
		}
	}
	return p
}

func known(v float64, is bool) *float64 {
	if !is {
		return nil
	}
	return &v
}

// latencies counts durations in classes of an eighth of a power of two of microseconds,
// so quantiles are right within 9 %. It is safe for concurrent use.
type latencies [8 * 32]atomic.Int64

func (l *latencies) add(d time.Duration) { l[classOf(d)].Add(1) }

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

// quantile returns a quantile of counted durations in ms; 0 without durations.
func quantile(counts *[len(latencies{})]int64, n int64, share float64) float64 {
	rank := max(int64(share*float64(n)+.5), 1)
	for i, in := range counts {
		if rank -= in; rank <= 0 {
			return middle(i)
		}
	}
	return 0
}

// empty forgets all durations, and returns their median and 99th percentile.
func (l *latencies) empty() (p50, p99 float64) {
	var counts [len(latencies{})]int64
	n := int64(0)
	for i := range l {
		counts[i] = l[i].Swap(0)
		n += counts[i]
	}
	return quantile(&counts, n, .5), quantile(&counts, n, .99)
}
