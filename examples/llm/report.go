package main

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// noticed is the minimum wait that counts.
const noticed = 100 * time.Millisecond

// kind counts the outcomes of one kind of calls.
type kind struct {
	sent, refused, waited, unsent int
	longest                       time.Duration
}

// result has the outcomes of all calls.
type result struct {
	length time.Duration

	mu                      sync.Mutex
	kinds                   []kind // of the loads
	requests, input, output int64  // charged by the provider
	failed                  []error
}

func (r *result) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = append(r.failed, err)
}

// add adds a call's outcome.
func (r *result) add(i int, o outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := &r.kinds[i]
	k.longest = max(k.longest, o.wait)
	if o.wait >= noticed {
		k.waited++
	}
	switch o.status {
	case 0:
		k.unsent++
		return
	case http.StatusTooManyRequests:
		k.refused++
	default:
		r.requests++
		r.input += max(0, o.usage.Input)
		r.output += max(0, o.usage.Output)
	}
	k.sent++
}

func (r *result) refused() (n int) {
	for _, k := range r.kinds {
		n += k.refused
	}
	return n
}

// share returns the used part of a budget: of a full bucket, and of the units that the
// rate adds during the run.
func (r *result) share(used, perMinute int64) float64 {
	return float64(used) / (float64(perMinute) * (1 + r.length.Minutes()))
}

func (r *result) print(w io.Writer) {
	fmt.Fprintln(w, "calls            sent  refused by the provider   waited  longest wait  not sent at the end")
	for i, k := range r.kinds {
		fmt.Fprintf(w, "%-13s %7d %24d %8d %12.1fs %20d\n", loads[i].name, k.sent, k.refused, k.waited, k.longest.Seconds(), k.unsent)
	}
	fmt.Fprintln(w, "\nbudget           used  share")
	for _, b := range []struct {
		name            string
		used, perMinute int64
	}{{"requests", r.requests, limits.RPM}, {"input tokens", r.input, limits.ITPM}, {"output tokens", r.output, limits.OTPM}} {
		fmt.Fprintf(w, "%-13s %7d %4.0f %%\n", b.name, b.used, 100*r.share(b.used, b.perMinute))
	}
}
