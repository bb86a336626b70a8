package promweir

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goweir/weir/internal/instruments"
	"github.com/goweir/weir/store"
)

// takes are the times of answered takes: most decisions make one. An addition takes two
// atomic operations. A histogram of package prometheus takes four, 15 ns more.
type takes struct {
	desc *prometheus.Desc
	mu   sync.Mutex
	all  []*take
}

// take is the histogram of one limiter and source.
type take struct {
	limiter string
	source  store.Source
	counts  []atomic.Uint64 // by bucket; the last has no bound
	sum     atomic.Int64    // in nanoseconds
}

// takeBounds are the upper bounds of the buckets.
var takeBounds = func() (bounds []time.Duration) {
	for _, seconds := range instruments.StoreBuckets {
		bounds = append(bounds, time.Duration(seconds*1e9+.5))
	}
	return bounds
}()

// get returns the histogram at a place, and makes it for the first call.
func (t *takes) get(at *atomic.Pointer[take], limiter string, source store.Source) *take {
	if found := at.Load(); found != nil {
		return found
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if at.Load() == nil {
		at.Store(&take{limiter: limiter, source: source, counts: make([]atomic.Uint64, len(takeBounds)+1)})
		t.all = append(t.all, at.Load())
	}
	return at.Load()
}

// add adds a time.
func (t *take) add(took time.Duration) {
	i := 0
	for i < len(takeBounds) && took > takeBounds[i] {
		i++
	}
	t.counts[i].Add(1)
	t.sum.Add(int64(took))
}

// collect sends the histograms.
func (t *takes) collect(to chan<- prometheus.Metric) {
	t.mu.Lock()
	all := t.all
	t.mu.Unlock()
	for _, one := range all {
		below, count := make(map[float64]uint64), uint64(0)
		for i, bound := range instruments.StoreBuckets {
			count += one.counts[i].Load()
			below[bound] = count
		}
		count += one.counts[len(takeBounds)].Load()
		sum := time.Duration(one.sum.Load()).Seconds()
		to <- prometheus.MustNewConstHistogram(t.desc, count, sum, below, one.limiter, "take", one.source.String(), "answered")
	}
}
