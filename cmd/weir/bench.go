package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/inspect"
	"github.com/goweir/weir/internal/rediskey"
	"github.com/spf13/cobra"
)

type bench struct {
	connection
	callers  int
	keys     int
	duration time.Duration
}

const (
	maxCallers = 10_000
	maxKeys    = 100_000
	maxBench   = 10 * time.Minute
	benchName  = "weir-bench"
)

func newBench() *cobra.Command {
	var b bench
	c := &cobra.Command{
		Use: "bench", Short: "Measure decisions on your Redis",
		Long: `Measures how long decisions take on your Redis, and how many it makes per
second: a PING, decisions of one caller, and decisions of several callers at
once, which share round trips. Each takes --duration. The keys are its own,
have one limit that admits all calls, and are deleted at the end.

It loads the server: think before you run it beside a service.`,
		Example: "  weir bench --callers 64 --keys 100 --duration 5s",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := b.check(); err != nil {
				return err
			}
			return b.with(func(s *session) error { return b.run(cmd, s) })
		},
	}
	b.connection.flags(c)
	c.Flags().IntVar(&b.callers, "callers", 16, "callers at once")
	c.Flags().IntVar(&b.keys, "keys", 1, "keys that the callers use by turns")
	c.Flags().DurationVar(&b.duration, "duration", 3*time.Second, "length of each of the three parts")
	return c
}

func (b *bench) check() error {
	switch {
	case b.callers < 1 || b.callers > maxCallers:
		return &exit{exitUsage, errFlag("callers", strconv.Itoa(b.callers), "1 to 10000")}
	case b.keys < 1 || b.keys > maxKeys:
		return &exit{exitUsage, errFlag("keys", strconv.Itoa(b.keys), "1 to 100000")}
	case b.duration <= 0 || b.duration > maxBench:
		return &exit{exitUsage, errFlag("duration", b.duration.String(), "more than 0, at most 10m")}
	}
	return nil
}

// measurement is a row of the report.
type measurement struct {
	Name      string       `json:"name"`
	Callers   int          `json:"callers"`
	Calls     int          `json:"calls"`
	Failed    int          `json:"failed"` // calls that returned an error
	PerSecond float64      `json:"per_second"`
	P50       inspect.Span `json:"p50_s"` // of the other calls
	P90       inspect.Span `json:"p90_s"`
	P99       inspect.Span `json:"p99_s"`
	Max       inspect.Span `json:"max_s"`
}

// of fills in the times of calls.
func (m *measurement) of(times []time.Duration, elapsed time.Duration) {
	slices.Sort(times)
	m.Calls, m.PerSecond = len(times), float64(len(times))/elapsed.Seconds()
	for part, at := range map[float64]*inspect.Span{0.5: &m.P50, 0.9: &m.P90, 0.99: &m.P99, 1: &m.Max} {
		if n := len(times); n > 0 {
			*at = inspect.Span(times[min(int(part*float64(n)), n-1)])
		}
	}
}

// maxFailures is the number of failed calls of one caller that end a measurement.
const maxFailures = 20

func (b *bench) run(cmd *cobra.Command, s *session) error {
	l, err := weir.New(weir.Config{Store: s.Store, Name: benchName, Limits: []weir.Limit{weir.PerDay(1e9)}})
	if err != nil {
		return err
	}
	id := rand.Text()
	key := func(i int) string { return id + "-" + strconv.Itoa(i%b.keys) }
	all, err := b.measureAll(cmd, s, l, key)
	// Before anything is printed: the reader of the output may be gone, which ends programs.
	if err = errors.Join(err, b.clean(cmd.Context(), s, key)); err != nil {
		return err
	}
	return b.print(cmd, map[string]any{"measurements": all}, func(p *page) { p.measurements(all) })
}

func (b *bench) measureAll(cmd *cobra.Command, s *session, l *weir.Limiter, key func(i int) string) (all []measurement, err error) {
	decide := func(ctx context.Context, i int) error {
		d, err := l.Allow(ctx, key(i))
		if err == nil && !d.Allowed {
			err = errors.New("a decision refused a call that the limit admits")
		}
		return err
	}
	parts := []struct {
		name    string
		callers int
		call    func(ctx context.Context, i int) error
	}{
		{"PING", 1, func(ctx context.Context, _ int) error { return s.Client().Ping(ctx).Err() }},
		{"1 caller", 1, decide},
		{fmt.Sprint(b.callers, " callers"), b.callers, decide},
	}
	if b.callers == 1 {
		parts = parts[:2]
	}
	p := newProgress(cmd.ErrOrStderr())
	defer p.clear()
	for _, part := range parts {
		p.begun = time.Time{}
		p.show("%s, %s", part.name, b.duration)
		// The first call connects, and brings the script.
		if err := part.call(cmd.Context(), 0); err != nil {
			return nil, err
		}
		m, err := measure(cmd.Context(), part.callers, b.duration, part.call)
		if err != nil {
			return nil, err
		}
		m.Name, m.Callers = part.name, part.callers
		all = append(all, m)
	}
	return all, nil
}

// clean deletes the keys, also after an interruption.
func (b *bench) clean(ctx context.Context, s *session, key func(i int) string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	for i := 0; i < b.keys; {
		pipe := s.Client().Pipeline()
		for end := min(i+500, b.keys); i < end; i++ {
			pipe.Del(ctx, rediskey.State(s.Prefix(), benchName, key(i)))
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("keys of limiter %s may be left, until they lapse: %w", benchName, err)
		}
	}
	return nil
}

// measure makes calls one after another in each caller, until the time is over.
func measure(ctx context.Context, callers int, d time.Duration, call func(ctx context.Context, i int) error) (m measurement, err error) {
	times, failures := make([][]time.Duration, callers), make([][]error, callers)
	var running sync.WaitGroup
	begun := time.Now()
	for c := range callers {
		running.Go(func() {
			for i, last := c, begun; last.Sub(begun) < d && len(failures[c]) < maxFailures && ctx.Err() == nil; i += callers {
				err := call(ctx, i)
				now := time.Now()
				if err != nil {
					failures[c] = append(failures[c], err)
				} else {
					times[c] = append(times[c], now.Sub(last))
				}
				last = now
			}
		})
	}
	running.Wait()
	m.of(slices.Concat(times...), time.Since(begun))
	for _, list := range failures {
		if m.Failed += len(list); len(list) == maxFailures {
			err = list[0]
		}
	}
	return m, cmp.Or(ctx.Err(), err)
}

func (p *page) measurements(all []measurement) {
	w := tabwriter.NewWriter(p, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tCALLS\tFAILED\tPER SECOND\tP50\tP90\tP99\tMAX\t")
	for _, m := range all {
		fmt.Fprintf(w, "%s\t%d\t%d\t%.0f\t%s\t%s\t%s\t%s\t\n", m.Name, m.Calls, m.Failed, m.PerSecond, m.P50, m.P90, m.P99, m.Max)
	}
	_ = w.Flush() // A page never fails.
}
