package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// enough is the share of the budget that has to be used.
const enough = 0.95

// result is what is known when all is over.
type result struct {
	options
	store          string
	length         time.Duration // what the run was to last
	lasted         time.Duration // from the first arrival to the end of the run
	calls, refused int           // by the upstream's count
	arrivals       []time.Duration
	tallies        []tally
	served         []*served
}

func (r *result) budget() int { return budget(allowances, r.lasted) }

func (r *result) share() float64 {
	return float64(r.calls) / float64(max(1, r.budget()))
}

// broken returns which promise was broken, or nil.
func (r *result) broken() error {
	var errs []error
	if r.refused > 0 {
		errs = append(errs, fmt.Errorf("the upstream refused %d calls: more than %v of margin was needed", r.refused, r.margin))
	}
	if share := r.share(); share < enough {
		errs = append(errs, fmt.Errorf("only %.1f %% of the budget was used, less than %.0f %%", 100*share, 100*enough))
	}
	for _, t := range r.tallies {
		if t.Failed > 0 {
			errs = append(errs, fmt.Errorf("%d calls of a worker failed: %s", t.Failed, t.Failure))
		}
	}
	for _, s := range r.served {
		if s.err != nil {
			errs = append(errs, fmt.Errorf("the %s customer's client: %w", s.name, s.err))
		}
		// One more, since Redis's clock and this one need not quite agree.
		if s.ok.Load() > s.most()+1 {
			errs = append(errs, fmt.Errorf("the API served the %s customer %d times, where %d are right", s.name, s.ok.Load(), s.most()))
		}
	}
	return errors.Join(errs...)
}

func (r *result) print(w io.Writer) {
	row := func(label, format string, args ...any) {
		fmt.Fprintf(w, "  %-30s %s\n", label, fmt.Sprintf(format, args...))
	}
	window := allowances[0]
	var each []string
	var commands int64
	var off, sent int
	var waits [][]time.Duration
	for _, t := range r.tallies {
		each = append(each, fmt.Sprint(t.Calls))
		commands += t.Redis
		off += t.TurnedOff
		sent += t.Calls
		waits = append(waits, t.Waits)
	}
	all := sorted(waits...)
	// Calls that left at once waited for nothing.
	all = append(make([]time.Duration, max(0, sent-len(all))), all...)

	fmt.Fprintf(w, "\nUPSTREAM (allows %s, by its own clock)\n", describe(allowances))
	row("calls", "%d, by worker %s", r.calls, strings.Join(each, " + "))
	row("refused with 429", "%d", r.refused)
	row("budget", "%d calls are the most allowed in %.1fs", r.budget(), r.lasted.Seconds())
	row("share of the budget used", "%.1f %%", 100*r.share())
	if p := pace(r.arrivals, window.calls); p > 0 {
		most := float64(window.calls) / window.period.Seconds()
		row("pace between windows", "%.2f calls per second of %.2f, %.1f %%", p, most, 100*p/most)
	}
	if c := closest(r.arrivals, window.calls); c > 0 {
		row(fmt.Sprintf("%d calls took at least", window.calls+1), "%.3fs, with a margin of %v", c.Seconds(), r.margin)
	}
	row("Redis calls per admitted call", "%.2f: %d, of which %d for slots past the end",
		float64(commands)/float64(max(1, r.calls)), commands, off)
	row("waiting time", "p50 %s, p95 %s, longest %s", seconds(percentile(all, 50)), seconds(percentile(all, 95)), seconds(percentile(all, 100)))

	fmt.Fprintf(w, "\nAPI (behind the middleware)\n  %-8s %-14s %9s %7s %8s %11s\n", "key of", "plan", "requests", "served", "refused", "at most")
	for _, s := range r.served {
		fmt.Fprintf(w, "  %-8s %-14s %9d %7d %8d %11s\n", s.name, fmt.Sprintf("%d per second", s.plan.Rate),
			s.requests.Load(), s.ok.Load(), s.limited.Load(), fmt.Sprintf("%d in %.1fs", s.most(), s.took.Seconds()))
	}
	for _, sample := range []string{r.served[0].sample200, r.served[0].sample429} {
		fmt.Fprintln(w)
		for line := range strings.Lines(strings.TrimRight(sample, "\r\n")) {
			fmt.Fprintln(w, strings.TrimRight("  "+line, " \r\n"))
		}
	}
	fmt.Fprintln(w)
	if r.broken() == nil {
		fmt.Fprintln(w, "The promise held: not one call too many, in either direction.")
	}
}

// describe writes allowances for people.
func describe(all []allowance) string {
	var each []string
	for _, a := range all {
		each = append(each, fmt.Sprintf("%d per any %s", a.calls, strings.Replace(a.period.String(), "m0s", "m", 1)))
	}
	return strings.Join(each, " and ")
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }
