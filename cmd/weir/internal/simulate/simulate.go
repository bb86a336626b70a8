// Package simulate runs calls through limits without real time, and reports which calls
// leave, wait or are refused. It decides with internal/exact, as the stores do.
//
// A run takes memory for keys in use, for the calls of a sliding window, and for calls
// on their way to a provider. The number of calls does not matter.
package simulate

import (
	"iter"
	"time"

	"github.com/goweir/weir/store"
)

// Arrival is a call of one unit. Times are microseconds since the Unix epoch.
type Arrival struct {
	At  int64 // not before the arrival in front of it
	Key string
}

// Candidate is a set of limits under comparison.
type Candidate struct {
	Name   string
	Limits []store.Limit // they hold together; none: each call leaves at once
}

// Config says how to run arrivals.
type Config struct {
	Candidates []Candidate
	MaxWait    time.Duration // 0: a call that does not fit is refused at once
	Provider   *Provider     // nil: calls that leave meet no further limit
	Start      int64         // of the bins; 0: the first arrival
	Step       time.Duration // length of a bin at first; a multiple of 1 µs
	Window     time.Duration // of candidates without limits
	Seed       uint64        // of the calls' times in flight
}

// Provider models the receiver of the calls. It counts all of them together.
type Provider struct {
	Limits []store.Limit // they hold together
	Travel time.Duration // a call is on its way for a random time, at most Travel
}

// Report is the result of a candidate.
type Report struct {
	Name     string `json:"name"`
	Offered  int64  `json:"offered"`
	Admitted int64  `json:"admitted"`
	Refused  int64  `json:"refused"`
	// Waits of the admitted calls. Percentiles are at most 1.6 % too high.
	P50 time.Duration `json:"wait_p50_ns"`
	P90 time.Duration `json:"wait_p90_ns"`
	Max time.Duration `json:"wait_max_ns"`
	// Worst is the most calls of one key that left in any half-open interval of one
	// Window, which is the first limit's period. WorstEnd is its last call's time.
	Window   time.Duration `json:"window_ns"`
	Worst    int64         `json:"worst_window"`
	WorstEnd int64         `json:"worst_window_end_us"`
	Served   *Served       `json:"provider,omitempty"`
	Timeline Timeline      `json:"timeline"`
}

// Served is a provider's part of a report.
type Served struct {
	Admitted int64 `json:"admitted"`
	Refused  int64 `json:"refused"`
	// Share is the used part of the provider's rate, from the first admitted call until
	// one period after the last. Of several limits the most used one counts.
	Share float64 `json:"share_of_rate"`
}

// Run runs arrivals through each candidate. It fails if a limit is invalid, or if too
// many keys are in use at once.
func Run(cfg Config, arrivals iter.Seq[Arrival]) ([]Report, error) {
	runs := make([]*run, len(cfg.Candidates))
	for i := range cfg.Candidates {
		if err := validate(cfg.Candidates[i].Limits); err != nil {
			return nil, err
		}
		runs[i] = newRun(&cfg, &cfg.Candidates[i])
	}
	if cfg.Step < time.Microsecond {
		return nil, &store.ConfigError{Field: "Step", Want: "1µs or more", Got: cfg.Step.String()}
	}
	if cfg.Provider != nil {
		if err := validate(cfg.Provider.Limits); err != nil {
			return nil, err
		}
	}
	for a := range arrivals {
		for _, r := range runs {
			if err := r.arrive(a); err != nil {
				return nil, err
			}
		}
	}
	reports := make([]Report, len(runs))
	for i, r := range runs {
		reports[i] = r.report()
	}
	return reports, nil
}

func validate(limits []store.Limit) error {
	for i := range limits {
		if err := limits[i].Validate(); err != nil {
			return err
		}
	}
	return nil
}

// maxKeys bounds the keys in use at once.
const maxKeys = 1 << 20
