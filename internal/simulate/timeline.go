package simulate

import "time"

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

// at returns the bin of an instant.
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
