package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/goweir/weir/weirtest"
)

// print prints when each process stopped and went on, and the used units.
func (r *result) print(w io.Writer) {
	fmt.Fprintf(w, "\nPAUSES\n")
	for _, p := range r.providers {
		calls := p.seen()
		first, ok := firstRefused(calls)
		if !ok {
			continue
		}
		fmt.Fprintf(w, "  %.3fs  provider %s refused worker %d: nothing for %v\n", first.at.Seconds(), p.name, first.worker+1, p.closed)
		for _, b := range r.braking() {
			if b.provider == p && b.at > first.at {
				fmt.Fprintf(w, "  %.3fs  the pause was set in the store, %v later\n", b.at.Seconds(), (b.at - first.at).Round(100*time.Microsecond))
				break
			}
		}
		for i := range workers {
			last, again := around(calls, i, first.at)
			fmt.Fprintf(w, "           worker %d sent its last call at %.3fs and the next at %.3fs\n", i+1, last.Seconds(), again.Seconds())
		}
	}
	fmt.Fprintf(w, "\nPROVIDERS\n  %-8s %9s %6s %6s %16s %16s %6s\n", "", "admitted", "of", "used", "429 by its limit", "429 by command", "late")
	for _, p := range r.providers {
		n := p.count(grace + r.late)
		fmt.Fprintf(w, "  %-8s %9d %6d %5.1f%% %16d %16d %6d\n", p.name, n.admitted, p.budget(), 100*p.used(n), n.byLimit, n.byCommand, n.late)
	}
	fmt.Fprintf(w, "  late are refusals more than %v after a response had told of the lower limit or the pause;\n", grace)
	fmt.Fprintf(w, "  this machine ran things up to %v too late, which is allowed on top\n", r.late.Round(100*time.Microsecond))
	if r.broken() == nil {
		fmt.Fprintf(w, "\nThe promise held: the answers to one process steered all of them.\n")
	}
}

// firstRefused returns the first call that a command refused.
func firstRefused(calls []call) (call, bool) {
	for _, c := range calls {
		if c.refused == weirtest.ByCommand {
			return c, true
		}
	}
	return call{}, false
}

// around returns the arrivals of a worker's last call before the pause took effect, and
// of its next call.
func around(calls []call, worker int, from time.Duration) (last, next time.Duration) {
	for _, c := range calls {
		switch {
		case c.worker != worker:
		case c.at <= from+2*grace:
			last = c.at
		case next == 0:
			next = c.at
		}
	}
	return last, next
}

// counts are the outcomes of calls at a provider.
type counts struct{ admitted, byLimit, byCommand, late int }

// count counts the calls. A late refusal comes more than allowed after the first call
// under the low limit, or under the refusal of all calls: its response announced the
// change.
func (p *provider) count(allowed time.Duration) (n counts) {
	var low, closed time.Duration // the first response with the change; 0: none
	for _, c := range p.seen() {
		if low == 0 && c.at >= p.lowers {
			low = c.at
		}
		switch c.refused {
		case weirtest.NotRefused:
			n.admitted++
		case weirtest.ByLimit:
			n.byLimit++
			if low == 0 || c.at > low+allowed {
				n.late++
			}
		case weirtest.ByCommand:
			n.byCommand++
			if closed == 0 {
				closed = c.at
			}
			if c.at > closed+allowed {
				n.late++
			}
		}
	}
	return n
}

func (p *provider) used(n counts) float64 { return float64(n.admitted) / float64(p.budget()) }

// broken returns the broken promises, or nil.
func (r *result) broken() error {
	var errs []error
	for _, p := range r.providers {
		n := p.count(grace + r.late)
		if n.late > 0 {
			errs = append(errs, fmt.Errorf("provider %s refused %d calls after it had said that it would", p.name, n.late))
		}
		if n.byCommand == 0 {
			errs = append(errs, fmt.Errorf("provider %s was not called when it refused everybody", p.name))
		}
		if used := p.used(n); used < r.enough {
			errs = append(errs, fmt.Errorf("only %.1f %% of what provider %s allows was used, less than %.0f %%", 100*used, p.name, 100*r.enough))
		}
	}
	for i, o := range r.outcomes {
		if o.Failed > 0 {
			errs = append(errs, fmt.Errorf("%d calls of worker %d failed: %s", o.Failed, i+1, o.Failure))
		}
	}
	return errors.Join(errs...)
}
