package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// report prints the results of the run.
func (p *play) report(w io.Writer) {
	p.reportPhases(w)
	p.reportCustomers(w)
	p.reportChanges(w)
	t := p.meter.total
	fmt.Fprintf(w, "\nTOTAL\n")
	row := func(label, format string, args ...any) {
		fmt.Fprintf(w, "  %-24s %s\n", label, fmt.Sprintf(format, args...))
	}
	row("requests", "%d in %.1fs", t.requests, p.length.Seconds())
	row("lost", "%d", t.lost)
	row("answered with a 5xx", "%d", t.failed)
	row("decided", "%d by redis, %d locally, %d undecided", t.byRedis, t.locally, t.undecided)
	if p.broken() == nil {
		fmt.Fprintf(w, "\nThe outages were boring: nothing lost, no 5xx, no customer admitted more often than promised.\n")
	}
}

// reportPhases prints the worst second of each phase.
func (p *play) reportPhases(w io.Writer) {
	fmt.Fprintf(w, "\nPHASES\n  %-12s %-11s %8s %8s %8s %9s %4s\n", "redis", "seconds", "requests", "by redis", "locally", "worst p99", "5xx")
	for i, ph := range p.phases {
		var sum counts
		var worst time.Duration
		for _, s := range p.told {
			if s.phase == i {
				sum.add(s.counts)
				worst = max(worst, s.p99)
			}
		}
		fmt.Fprintf(w, "  %-12s %-11s %8d %8d %8d %9s %4d\n", ph.name, fmt.Sprintf("%.0f to %.0f", ph.from.Seconds(), ph.to.Seconds()),
			sum.requests, sum.byRedis, sum.locally, millis(worst), sum.failed)
	}
}

// reportCustomers prints each customer's admitted requests, the maximum without an
// outage, and the allowed excess.
func (p *play) reportCustomers(w io.Writer) {
	end := p.told[len(p.told)-1]
	fmt.Fprintf(w, "\nADMITTED (promised are the rate's units, the burst, and a local burst for each of %d outages that a replica saw)\n", end.outages)
	fmt.Fprintf(w, "  %-5s %-14s %8s %8s %8s %14s %14s %9s\n", "key", "plan", "requests", "refused", "admitted", "rate and burst", "local bursts", "promised")
	for i, c := range p.customers {
		got := end.customers[i]
		fmt.Fprintf(w, "  %-5s %-14s %8d %8d %8d %14d %14s %9d\n", c.name, fmt.Sprintf("%d per second", c.plan.Rate),
			got.requests, got.refused, got.admitted, budget(c.plan, p.length),
			fmt.Sprintf("%d x %d", end.outages, localBurst(c.plan, p.replicas)), end.promised[i])
	}
}

// reportChanges prints the changes in OnChange.
func (p *play) reportChanges(w io.Writer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(w, "\nCHANGES OF STATE\n")
	for _, c := range p.changes {
		what := "is back after " + c.After.Round(time.Millisecond).String()
		if c.Err != nil {
			what = "is away: " + strings.Join(strings.Fields(c.Err.Error()), " ")
		}
		fmt.Fprintf(w, "  %7.3fs  replica %d: redis %s\n", c.at.Seconds(), c.replica, what)
	}
}
