package measure

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/data"
)

// These are the cases of Outage.
const (
	Killed  = "killed"
	Stopped = "stopped"
)

// Outage measures calls to a killed server, and to a stopped one that answers nothing.
// Each contender is set up as its documentation recommends. All run at once, as they only
// wait.
func Outage(r *Run) {
	for _, name := range []string{Killed, Stopped} {
		outageOnce(r, name)
	}
}

func outageOnce(r *Run, name string) {
	s := new(scope)
	defer s.close()
	server, at := s.server()
	type opened struct {
		who           string
		without, with contender.Decide
	}
	var open []opened
	for _, c := range r.those(func(c contender.Contender) bool { return c.Redis != nil && !c.Variant && !c.Physical }) {
		// There are two, so that neither learns from the other's calls.
		without, err := openResilient(s, c, at)
		if err == nil {
			with, also := openResilient(s, c, at)
			if err = also; err == nil {
				open = append(open, opened{c.Name, without, with})
			}
		}
		if err != nil {
			r.remark(data.Outage, name, c.Name, err)
		}
	}
	if name == Killed {
		server.Kill()
	} else {
		server.Stop()
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	lasts := size(r, 30*time.Second, 2*time.Second)
	for _, o := range open {
		var without, with []ended
		var both sync.WaitGroup
		both.Go(func() { without = calls(o.without, size(r, 30, 3), 0, lasts) })
		both.Go(func() { with = calls(o.with, size(r, 30, 3), 50*time.Millisecond, lasts) })
		all.Go(func() {
			both.Wait()
			mu.Lock()
			defer mu.Unlock()
			outageResult(r, name, o.who, without, with)
		})
	}
	all.Wait()
	if name == Stopped {
		server.Cont()
	}
}

func openResilient(s *scope, c contender.Contender, at contender.Servers) (decide contender.Decide, err error) {
	open := c.Redis
	if c.Resilient != nil {
		open = c.Resilient
	}
	err = within(10*time.Second, func(ctx context.Context) (err error) {
		if decide, err = open(s, contender.Roomy(1), at); err != nil {
			return err
		}
		// A busy program has more than one connection.
		return preload(ctx, decide, makeKeys(16), 16)
	})
	return decide, err
}

// ended is the end of a call.
type ended struct {
	took    time.Duration
	err     error
	missing bool // it took longer than the time
}

// calls makes one call after another, until there are enough or the time is over. A call
// that never ends is left alone.
func calls(decide contender.Decide, most int, timeout, lasts time.Duration) []ended {
	results := make(chan ended)
	enough := make(chan struct{})
	start := time.Now()
	last := start
	go func() {
		defer close(results)
		for range most {
			ctx, cancel := context.WithCancel(context.Background())
			if timeout > 0 {
				ctx, cancel = context.WithTimeout(context.Background(), timeout)
			}
			begin := time.Now()
			err := caught(func() error { _, err := decide(ctx, "customer-00000007"); return err })
			e := ended{took: time.Since(begin), err: err}
			cancel()
			select {
			case results <- e:
			case <-enough:
				return
			}
		}
	}()
	defer close(enough)
	over := time.After(lasts)
	var all []ended
	for {
		select {
		case e, ok := <-results:
			if !ok {
				return all
			}
			all = append(all, e)
			last = time.Now()
			if time.Since(start) > lasts {
				return all
			}
		case <-over:
			// A call that has not taken much longer than earlier ones may soon end.
			pending := time.Since(last)
			if slices.ContainsFunc(all, func(e ended) bool { return 2*e.took > pending }) {
				return all
			}
			return append(all, ended{took: pending, missing: true})
		}
	}
}

func outageResult(r *Run, name, who string, without, with []ended) {
	add := func(metric string, value float64) { r.add(data.Outage, name, who, metric, value) }
	var took []time.Duration
	failed := 0
	for _, e := range without {
		took = append(took, e.took)
		if e.err != nil || e.missing {
			failed++
		}
		if e.missing {
			r.remark(data.Outage, name, who, fmt.Errorf("a call had not ended after %v", e.took.Round(time.Second)))
		}
	}
	add(data.First, millis(took[0]))
	slices.Sort(took)
	add(data.Typical, millis(took[len(took)/2]))
	add(data.Longest, millis(took[len(took)-1]))
	add(data.Failed, 100*float64(failed)/float64(len(took)))
	longest := time.Duration(0)
	for _, e := range with {
		longest = max(longest, e.took)
	}
	add(data.Honoured, millis(longest))
}
