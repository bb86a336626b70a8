package measure

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/data"
	"github.com/goweir/weir/internal/redistest"
)

// interval is the time between two slots: 100 per second.
const interval = 10 * time.Millisecond

// Waiters names a case of Waiting.
func Waiters(n int) string { return data.Count(n) + " waiters" }

// Waiting sends many callers at almost the same time to a limit of 100 per second. It
// measures the time of each one's turn.
func Waiting(r *Run) {
	for _, n := range size(r, []int{100, 1000}, []int{20}) {
		for range size(r, min(r.Results.Passes, 1+200/n), 1) {
			for _, c := range r.those(func(c contender.Contender) bool { return c.Waiting != nil }) {
				if r.gaveUp(data.Waiting, Waiters(n), c.Name) {
					continue
				}
				if err := waitingOnce(r, c, n); err != nil {
					r.fail(data.Waiting, Waiters(n), c.Name, err)
				}
			}
		}
	}
}

// turn is a caller's wait.
type turn struct {
	came, went time.Time
	err        error
}

func waitingOnce(r *Run, c contender.Contender, n int) error {
	s := new(scope)
	defer s.close()
	var at contender.Servers
	var servers []*redistest.Server
	if !c.LocalWaiting {
		var server *redistest.Server
		server, at = s.server()
		servers = append(servers, server)
	}
	wait, err := c.Waiting(s, contender.Limit{Burst: 1, Refill: interval, Window: interval}, at)
	if err != nil {
		return err
	}
	// A call with another key connects.
	if err := within(10*time.Second, func(ctx context.Context) error { return wait(ctx, "first") }); err != nil {
		return err
	}
	before := costOf(servers)
	var turns []turn
	most := 2*time.Duration(n)*interval + 5*time.Second
	err = within(most+5*time.Second, func(context.Context) error { turns = queue(wait, n, most); return nil })
	if err != nil {
		return err
	}
	spent := costOf(servers).minus(before)
	add := func(metric string, value float64) { r.add(data.Waiting, Waiters(n), c.Name, metric, value) }
	lateness, overtaken, failed := judge(turns)
	if failed > 0 {
		r.remark(data.Waiting, Waiters(n), c.Name, fmt.Errorf("%d of %d got no turn within %v", failed, n, most))
	}
	if !c.LocalWaiting && failed < n {
		add(data.Calls, spent.scripts/float64(n-failed))
	}
	add(data.Late, lateness)
	add(data.Disorder, 100*overtaken)
	return nil
}

// queue starts callers 100 µs apart.
func queue(wait contender.Wait, n int, most time.Duration) []turn {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	turns := make([]turn, n)
	var all sync.WaitGroup
	for i := range turns {
		all.Go(func() {
			turns[i].came = time.Now()
			turns[i].err = wait(ctx, "queue")
			turns[i].went = time.Now()
		})
		time.Sleep(100 * time.Microsecond)
	}
	all.Wait()
	return turns
}

// judge compares the waits with the ideal: the first caller goes at once, and each
// further one an interval later.
//
//	lateness    the longest wait, less its ideal, of waits with an ideal of 100 ms or more
//	overtaken   the share of callers that a later caller overtook
//	failed      the number of callers without a turn
func judge(turns []turn) (lateness, overtaken float64, failed int) {
	turns = slices.Clone(turns)
	slices.SortFunc(turns, func(a, b turn) int { return a.came.Compare(b.came) })
	first := turns[0].came
	for i, t := range turns {
		if t.err != nil {
			failed++
			continue
		}
		ideal := first.Add(time.Duration(i) * interval).Sub(t.came)
		if ideal >= 10*interval {
			lateness = max(lateness, float64(t.went.Sub(t.came))/float64(ideal))
		}
		// Half an interval is less than a turn, so it does not count.
		if slices.ContainsFunc(turns[i+1:], func(u turn) bool { return u.err == nil && u.went.Add(interval/2).Before(t.went) }) {
			overtaken++
		}
	}
	return lateness, overtaken / float64(len(turns)), failed
}
