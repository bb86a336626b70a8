package main

import (
	"slices"
	"time"
)

// allowance is a number of calls per any period.
type allowance struct {
	calls  int
	period time.Duration
}

// allowances are what the upstream enforces.
var allowances = []allowance{{25, 5 * time.Second}, {300, time.Minute}}

// ledger holds the instants of the calls that were admitted, in order, counted
// from any origin. No half-open interval [x, x+period) has more of them than
// an allowance says.
type ledger struct {
	allowances []allowance
	admitted   []time.Duration
}

// earliest returns the instant from which the next call is admitted: each
// allowance's last-but-calls-th call must be a whole period ago.
func (l *ledger) earliest() time.Duration {
	var at time.Duration
	for _, a := range l.allowances {
		if i := len(l.admitted) - a.calls; i >= 0 {
			at = max(at, l.admitted[i]+a.period)
		}
	}
	return at
}

// admit reports whether a call at an instant is allowed, and remembers it then.
func (l *ledger) admit(at time.Duration) bool {
	if at < l.earliest() {
		return false
	}
	l.admitted = append(l.admitted, at)
	return true
}

// budget returns the most calls that the allowances permit in the time d from
// the first of them on. It plays the perfect client, who fills every window at
// the instant it opens: the calls allowed at 0s, those at 5s, and so on. No
// client can do better, since calling earlier never frees a window later.
func budget(allowances []allowance, d time.Duration) int {
	l := ledger{allowances: allowances}
	for at := l.earliest(); at < d; at = l.earliest() {
		l.admit(at)
	}
	return len(l.admitted)
}

// settling is the time that the calls of a window get to arrive.
const settling = 500 * time.Millisecond

// runLength returns how long a run of about d has to last for its end to be
// fair. The perfect client spends a window the instant it opens, while the
// workers come to it later by the margin of every window before: a run that
// ended in between would count a whole window as unused. A run that ends so is
// prolonged until the workers, too, had their turn in the last window.
func runLength(d, margin time.Duration) time.Duration {
	window := allowances[0].period
	before := (d - 1) / window
	return max(d, before*(window+margin)+settling)
}

// closest returns the shortest time in which n+1 calls arrived, 0 if there were
// not as many. It must not be shorter than the period of an allowance of n.
func closest(arrivals []time.Duration, n int) time.Duration {
	if len(arrivals) <= n {
		return 0
	}
	shortest := arrivals[n] - arrivals[0]
	for i := range arrivals[n:] {
		shortest = min(shortest, arrivals[i+n]-arrivals[i])
	}
	return shortest
}

// pace returns how many calls per second arrived from the opening of the first
// window to that of the last, so that it does not depend on where the run was
// cut off; 0 when only one window opened.
func pace(arrivals []time.Duration, n int) float64 {
	last := (len(arrivals) - 1) / n * n
	if last <= 0 {
		return 0
	}
	return float64(last) / (arrivals[last] - arrivals[0]).Seconds()
}

// percentile returns the smallest duration that p percent of them don't exceed.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

// sorted returns all the durations in ascending order.
func sorted(lists ...[]time.Duration) []time.Duration {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return all
}
