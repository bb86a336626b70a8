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

// recent counts the calls of one key in the last window.
type recent struct {
	calls []leaving
	first int // the oldest live one
	count int64
}

type leaving struct{ at, calls int64 }

// add adds a call, not before the one in front of it. It returns the number of calls in
// the window that ends with this call.
func (r *recent) add(at, window int64) int64 {
	for r.first < len(r.calls) && r.calls[r.first].at+window <= at {
		r.count -= r.calls[r.first].calls
		r.first++
	}
	if r.first > len(r.calls)/2 {
		r.calls = r.calls[:copy(r.calls, r.calls[r.first:])]
		r.first = 0
	}
	r.count++
	if n := len(r.calls); n > 0 && r.calls[n-1].at == at {
		r.calls[n-1].calls++
	} else {
		r.calls = append(r.calls, leaving{at, 1})
	}
	return r.count
}

// newest returns the time of the newest call; 0: there is none.
func (r *recent) newest() int64 {
	if n := len(r.calls); n > 0 {
		return r.calls[n-1].at
	}
	return 0
}

// Timeline counts calls in bins of one length. If there would be more than 2048 bins, their
// length doubles.
type Timeline struct {
	Start int64         `json:"start_us"`
	Step  time.Duration `json:"step_ns"`
	Bins  []Bin         `json:"bins"`
}

// Bin counts calls by the time at which they ask, leave or arrive at the provider.
type Bin struct {
	Offered  int64 `json:"offered"`
	Admitted int64 `json:"admitted"`
	Refused  int64 `json:"refused"`
	Served   int64 `json:"served,omitempty"`   // by the provider
	Rejected int64 `json:"rejected,omitempty"` // by the provider
}

const maxBins = 2048

func (t *Timeline) at(instant int64) *Bin {
	i := (instant - t.Start) / t.Step.Microseconds()
	for i >= maxBins {
		*t = t.Merge(2)
		i /= 2
	}
	for int64(len(t.Bins)) <= i {
		t.Bins = append(t.Bins, Bin{})
	}
	return &t.Bins[i]
}

// Merge returns the timeline with n bins in one.
func (t *Timeline) Merge(n int) Timeline {
	m := Timeline{t.Start, t.Step * time.Duration(n), make([]Bin, (len(t.Bins)+n-1)/n)}
	for i, b := range t.Bins {
		to := &m.Bins[i/n]
		to.Offered += b.Offered
		to.Admitted += b.Admitted
		to.Refused += b.Refused
		to.Served += b.Served
		to.Rejected += b.Rejected
	}
	return m
}
