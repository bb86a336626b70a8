// Package measure does the measuring: one file per subject.
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

// Run is one run: what is measured, how often, and what came out.
type Run struct {
	Results    *data.Results
	Contenders []contender.Contender
	// Quick makes everything small: to see that it works, not what it measures.
	Quick bool
	// Until is when time is over: from then on each measurement is made once.
	// Zero: never.
	Until time.Time
	// Log is told what is under way.
	Log func(format string, args ...any)

	given map[given]bool
}

// given is what a contender gave up.
type given struct{ part, caseName, who string }

// Part is a subject.
type Part struct {
	Name    string
	Measure func(r *Run)
}

// Parts are all subjects, in their order.
func Parts() []Part {
	return []Part{
		{data.Local, Local}, {data.Memory, Memory}, {data.HTTP, HTTP},
		{data.Redis, Redis}, {data.Cluster, Cluster}, {data.Server, ServerMemory},
		{data.Exact, Exact}, {data.Outage, Outage}, {data.Waiting, Waiting}, {data.Network, Network},
	}
}

// Do measures one part. A part that can't go on is reported, and ends.
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

// passes calls f for each pass; when time is over, once.
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

// fail reports what a contender could not do, once; it is then spared the
// further passes of the case.
func (r *Run) fail(part, caseName, who string, err error) {
	r.remark(part, caseName, who, err)
	if r.given == nil {
		r.given = make(map[given]bool)
	}
	r.given[given{part, caseName, who}] = true
}

// remark reports what went wrong without sparing anything.
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

// within runs f, at most for so long. An f that takes longer goes on by itself:
// it must not touch what others use, and should end with its context.
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
