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

// The cases of Outage.
const (
	Killed  = "killed"
	Stopped = "stopped"
)

// Outage measures how long calls take when the server was killed, and when it
// was stopped and answers nothing: each contender as its documentation
// recommends it, all at once, as all that they do is wait.
func Outage(r *Run) {
	for _, name := range []string{Killed, Stopped} {
		outageOnce(r, name)
	}
}

func outageOnce(r *Run, name string) {
	s := new(scope)
	defer s.close()
	server, at := s.server()
	open := make(map[string]contender.Decide)
	for _, c := range r.those(func(c contender.Contender) bool { return c.Redis != nil && !c.Variant && !c.Physical }) {
		decide, err := openResilient(s, c, at)
		if err != nil {
			r.remark(data.Outage, name, c.Name, err)
			continue
		}
		open[c.Name] = decide
	}
	if name == Killed {
		server.Kill()
	} else {
		server.Stop()
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	for who, decide := range open {
		all.Go(func() {
			without := calls(decide, size(r, 30, 3), 0, size(r, 30*time.Second, 2*time.Second))
			with := calls(decide, size(r, 10, 3), 50*time.Millisecond, size(r, 10*time.Second, 2*time.Second))
			mu.Lock()
			defer mu.Unlock()
			outageResult(r, name, who, without, with)
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
	err = within(10*time.Second, func() (err error) {
		if decide, err = open(s, contender.Roomy(1), at); err != nil {
			return err
		}
		// More than one connection, as a program that was busy has.
		return preload(decide, makeKeys(16), 16)
	})
	return decide, err
}

// ended is how a call ended.
type ended struct {
	took    time.Duration
	err     error
	missing bool // it had not ended when the time was over
}

// calls makes one call after the other, until there were enough or the time is
// over. A call that never ends is left alone.
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
			return append(all, ended{took: time.Since(last), missing: true})
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
