package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/cmd/weir/internal/simulate"
	"github.com/spf13/cobra"
)

//go:generate go run . simulate --limit 5/s --pattern poisson:8/s --duration 10s --seed 4 --title "5 per second, and a client that calls 8 times per second at random" --svg ../../docs/images/algorithms-refuse.svg
//go:generate go run . simulate --limit 5/s --pattern bursts:20/5s --duration 20s --wait 10s --title "Calls that wait: 20 at once each 5 s, under 5 per second" --svg ../../docs/images/algorithms-wait.svg
//go:generate go run . simulate --limit "with weir: 25/5s,outbound" --pattern bursts:100/30s --duration 90s --wait 1m --provider 25/5s --title "A fleet's calls at a provider that allows 25 per 5 s" --svg ../../docs/images/fleet.svg

type simulation struct {
	limits                      []string
	pattern, log, key, provider string
	duration, wait, travel      time.Duration
	seed                        uint64
	json, chart                 bool
	svg, title                  string
}

const simulateHelp = `Runs calls through limits without real time and without Redis. Reports for each
algorithm how many calls leave, wait or are refused, and its worst window: the
most calls of one key in any interval as long as the limit's period.

  limit     25/5s                  all algorithms are compared
            25/5s,sliding_window   or gcra, sliding_counter, fixed_window,
                                   aligned_window, outbound (weir.Outbound)
            25/5s,burst=5          gcra with a burst
            25/5s+300/m            limits that hold together
            "label: 25/5s,gcra"    a row with a label of its own
  pattern   constant:8/s           evenly spaced
            poisson:8/s            at random, 8 per second on average
            bursts:50/10s          50 at once each 10 s
            ramp:1/s-20/s          evenly faster or slower
  log       common, combined, or JSON lines with a time in one of the fields
            time, ts, timestamp, @timestamp, time_iso8601, time_local, msec or
            start_time; key names remote_addr, remote_user, method, path,
            status, referer, user_agent, or a field of the JSON (a.b: within a)
  provider  25/5s,aligned_window   counts arriving calls; sliding_window (a log)
                                   unless the limit names an algorithm
            25/5s+300/m            both together`

func newSimulate() *cobra.Command {
	var s simulation
	c := &cobra.Command{
		Use: "simulate", Short: "Run traffic through limits, and compare algorithms", Long: simulateHelp,
		Example:      "  weir simulate --limit 25/5s --pattern poisson:6/s --provider 25/5s --wait 10s\n  weir simulate --limit 100/m --log access.log --key remote_addr",
		SilenceUsage: true, SilenceErrors: true,
		RunE: func(c *cobra.Command, _ []string) error { return s.run(c) },
	}
	f := c.Flags()
	f.StringArrayVar(&s.limits, "limit", nil, "limit to try; repeat it to compare several")
	f.StringVar(&s.pattern, "pattern", "poisson:8/s", "traffic: a shape and a rate")
	f.StringVar(&s.log, "log", "", "access log instead of a pattern; - reads standard input")
	f.StringVar(&s.key, "key", "", "field of the log that says who calls; empty: all lines count together")
	f.DurationVar(&s.duration, "duration", time.Minute, "length of the pattern")
	f.StringVar(&s.provider, "provider", "", "limits of a provider that receives the calls")
	f.DurationVar(&s.travel, "travel", 50*time.Millisecond, "longest time of a call on its way to the provider")
	f.DurationVar(&s.wait, "wait", 0, "longest wait of a call; 0: it is refused at once")
	f.Uint64Var(&s.seed, "seed", 1, "seed of all random numbers")
	f.BoolVar(&s.json, "json", false, "print JSON")
	f.BoolVar(&s.chart, "chart", false, "print charts too")
	f.StringVar(&s.svg, "svg", "", "write a chart to this file")
	f.StringVar(&s.title, "title", "", "title of the SVG chart")
	c.MarkFlagsMutuallyExclusive("log", "pattern")
	c.MarkFlagsMutuallyExclusive("log", "duration")
	return c
}

// errFlag is the error of a flag's value.
func errFlag(flag, got, want string) error {
	return fmt.Errorf("--%s %q: want %s", flag, got, want)
}

// run simulates until the context ends.
func (s *simulation) run(c *cobra.Command) error {
	out := c.OutOrStdout()
	cfg, err := s.config()
	if err != nil {
		return err
	}
	calls, log, err := s.calls(&cfg, c.InOrStdin())
	if err != nil {
		return err
	}
	reports, err := simulateUntil(c.Context(), cfg, calls, newProgress(c.ErrOrStderr()))
	if err != nil {
		return err
	}
	if log != nil {
		switch {
		case log.Err != nil:
			return fmt.Errorf("--log %s: %w", s.log, log.Err)
		case log.Lines == 0:
			return fmt.Errorf("--log %s: it has no lines", s.log)
		case log.Lines == log.Bad:
			return fmt.Errorf("--log %s: no line is readable: %s", s.log, log.FirstBad)
		}
	}
	if s.svg != "" {
		if err := os.WriteFile(s.svg, []byte(s.draw(reports)), 0o644); err != nil {
			return fmt.Errorf("--svg: %w", err)
		}
	}
	if s.json {
		return failed(s.printJSON(out, reports, log))
	}
	return failed(s.print(out, reports, log))
}

// simulateUntil simulates, and returns when the context ends: a read of standard input may
// still be under way then.
func simulateUntil(ctx context.Context, cfg simulate.Config, calls iter.Seq[simulate.Arrival], p *progress) ([]simulate.Report, error) {
	var reports []simulate.Report
	var err error
	var n atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		reports, err = simulate.Run(cfg, func(yield func(simulate.Arrival) bool) {
			for call := range calls {
				if ctx.Err() != nil || !yield(call) {
					return
				}
				n.Add(1)
			}
		})
	}()
	tick := time.Tick(500 * time.Millisecond)
	defer p.clear()
	for {
		select {
		case <-tick:
			p.show("%d calls", n.Load())
			continue
		case <-ctx.Done():
		case <-done:
			if ctx.Err() == nil {
				return reports, err
			}
		}
		return nil, failed(context.Canceled)
	}
}

func (s *simulation) config() (cfg simulate.Config, err error) {
	cfg = simulate.Config{MaxWait: s.wait, Seed: s.seed, Window: time.Second, Step: 100 * time.Millisecond}
	switch {
	case len(s.limits) == 0:
		return cfg, errFlag("limit", "", wantLimit)
	case s.key != "" && s.log == "":
		return cfg, errFlag("key", s.key, "--log too")
	case s.duration <= 0:
		return cfg, errFlag("duration", s.duration.String(), "more than 0")
	case s.wait < 0:
		return cfg, errFlag("wait", s.wait.String(), "0 or more")
	case s.travel < 0:
		return cfg, errFlag("travel", s.travel.String(), "0 or more")
	}
	if s.provider != "" {
		limits, err := parseProvider(s.provider)
		if err != nil {
			return cfg, err
		}
		cfg.Provider, cfg.Window = &simulate.Provider{Limits: limits, Travel: s.travel}, limits[0].Period
		cfg.Candidates = []simulate.Candidate{{Name: "without weir"}}
	}
	for _, text := range s.limits {
		candidates, err := parseCandidates(text, cfg.Provider != nil)
		if err != nil {
			return cfg, err
		}
		for i := range candidates {
			if len(s.limits) > 1 && len(candidates) > 1 && !strings.Contains(text, ": ") {
				candidates[i].Name = text + " " + candidates[i].Name
			}
		}
		cfg.Candidates = append(cfg.Candidates, candidates...)
	}
	return cfg, nil
}

// begin is the start of patterns: a midnight.
var begin = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

const maxCalls = 100e6

// calls returns the traffic, and its log, if any.
func (s *simulation) calls(cfg *simulate.Config, stdin io.Reader) (iter.Seq[simulate.Arrival], *simulate.Log, error) {
	if s.log == "" {
		p, err := parsePattern(s.pattern)
		if err != nil {
			return nil, nil, err
		}
		if p.Calls(s.duration) > maxCalls {
			return nil, nil, errFlag("pattern", s.pattern, "at most 100 million calls in --duration")
		}
		cfg.Start, cfg.Step = begin, round(s.duration/150)
		return p.Arrivals(begin, s.duration, s.seed), nil, nil
	}
	log := &simulate.Log{R: stdin, Key: s.key}
	if s.log == "-" {
		return log.Arrivals(), log, nil
	}
	file, err := os.Open(s.log)
	if err != nil {
		return nil, nil, fmt.Errorf("--log: %w", err)
	}
	log.R = file
	return func(yield func(simulate.Arrival) bool) {
		defer file.Close() // Reading has no error of its own at the end.
		log.Arrivals()(yield)
	}, log, nil
}

// round returns the next greater duration that is easy to read.
func round(d time.Duration) time.Duration {
	for unit := time.Microsecond; ; unit *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if n*unit >= d {
				return n * unit
			}
		}
	}
}

// kinds returns the algorithms for a limit that names none.
func kinds(provider bool) []string {
	var names []string
	if provider {
		names = append(names, outbound)
	}
	for a := weir.GCRA; a <= weir.AlignedWindow; a++ {
		names = append(names, a.String())
	}
	return names
}
