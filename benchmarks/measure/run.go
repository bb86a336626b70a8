// Package measure makes the measurements, with one file per subject.
package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/data"
)

// Run is one run: its contenders, its settings and its results.
type Run struct {
	Results    *data.Results
	Contenders []contender.Contender
	// Quick makes everything small: a check of the program, not a measurement.
	Quick bool
	// Until is the time after which each measurement is made once. Zero: never.
	Until time.Time
	// Log gets the progress.
	Log func(format string, args ...any)

	given map[given]bool
}

// given is a case that a contender gave up.
type given struct{ part, caseName, who string }

// Part is a subject.
type Part struct {
	Name    string
	Measure func(r *Run)
}

// Parts returns all subjects in order.
func Parts() []Part {
	return []Part{
		{data.Local, Local}, {data.Memory, Memory}, {data.HTTP, HTTP},
		{data.Redis, Redis}, {data.Cluster, Cluster}, {data.Server, ServerMemory},
		{data.Exact, Exact}, {data.Outage, Outage}, {data.Waiting, Waiting}, {data.Network, Network},
	}
}

// Do measures one part. It reports a part that fails.
func (r *Run) Do(p Part) {
	start := time.Now()
	r.Log("%s …", p.Name)
	if err := caught(func() error { p.Measure(r); return nil }); err != nil {
		r.fail(p.Name, "", "", err)
	}
	r.Log("%s took %.0f s", p.Name, time.Since(start).Seconds())
}

// size returns the full size, or the quick one.
func size[T any](r *Run, full, quick T) T {
	if r.Quick {
		return quick
	}
	return full
}

// passes calls f for each pass, or once after Until.
func (r *Run) passes(f func()) {
	for pass := range r.Results.Passes {
		if pass > 0 && !r.Until.IsZero() && time.Now().After(r.Until) {
			r.Results.Cut = true
			return
		}
		f()
	}
}

// those returns the contenders that suit.
func (r *Run) those(suits func(contender.Contender) bool) []contender.Contender {
	return slices.DeleteFunc(slices.Clone(r.Contenders), func(c contender.Contender) bool { return !suits(c) })
}

// fail reports a failure of a contender once, and spares it the further passes of the
// case.
func (r *Run) fail(part, caseName, who string, err error) {
	r.remark(part, caseName, who, err)
	if r.given == nil {
		r.given = make(map[given]bool)
	}
	r.given[given{part, caseName, who}] = true
}

// remark reports a failure without sparing passes.
func (r *Run) remark(part, caseName, who string, err error) {
	if r.Results.Failed(part, caseName, who) != "" {
		return
	}
	r.Log("  %s, %s: %s: %v", part, caseName, who, err)
	r.Results.Failures = append(r.Results.Failures, data.Failure{Part: part, Case: caseName, Contender: who, Text: err.Error()})
}

// gaveUp reports whether a contender failed in the case before.
func (r *Run) gaveUp(part, caseName, who string) bool {
	return r.given[given{part, caseName, who}]
}

func (r *Run) add(part, caseName, who, metric string, value float64) {
	r.Results.Add(data.Key{Part: part, Case: caseName, Contender: who, Metric: metric}, value)
}

var errTooLong = errors.New("did not end in time")

// within runs f for d at most. A slow f goes on by itself. So it must not touch shared
// data, and should end with its context.
func within(d time.Duration, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- caught(func() error { return f(ctx) }) }()
	select {
	case err := <-done:
		return err
	case <-time.After(d):
		return fmt.Errorf("%w: %v", errTooLong, d)
	}
}

// caught turns a panic of f into an error.
func caught(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			if f, ok := p.(failure); ok {
				err = f
			}
		}
	}()
	return f()
}
