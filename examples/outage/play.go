package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/goweir/weir/store/fallback"
)

// play is one run: a Redis, the replicas of an API, and their customers.
type play struct {
	options
	redis     redisServer
	phases    []phase
	customers []customer
	fleet     []*replica
	meter     *meter

	start  time.Time
	length time.Duration // from the start to the last second's end
	told   []second

	mu      sync.Mutex
	changes []change
}

// change is a change of state in a replica's OnChange.
type change struct {
	at      time.Duration
	replica int
	fallback.Change
}

func newPlay(o options, server redisServer) (*play, error) {
	p := &play{options: o, redis: server, phases: plan(o.duration), customers: customers(o.rate), start: time.Now()}
	p.meter = newMeter(len(p.customers), o.replicas)
	for i := range o.replicas {
		r, err := startReplica(server.addr(), o.replicas, p.customers, p.meter.hook(i), func(c fallback.Change) { p.changed(i, c) })
		if err != nil {
			p.close()
			return nil, err
		}
		p.fleet = append(p.fleet, r)
	}
	return p, nil
}

func (p *play) close() {
	for _, r := range p.fleet {
		r.close()
	}
}

func (p *play) changed(replica int, c fallback.Change) {
	if c.Err != nil {
		p.meter.opened(replica)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes = append(p.changes, change{time.Since(p.start), replica + 1, c})
}

// run plays the plan under load, a second at a time.
func (p *play) run(ctx context.Context, w io.Writer) error {
	p.introduce(w)
	var urls []string
	for _, r := range p.fleet {
		urls = append(urls, r.url)
	}
	loading, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer stop()
	p.start = time.Now()
	beside.Go(func() { load(loading, p.rate, urls, p.customers, p.meter) })
	for i, ph := range p.phases {
		if ph.begin != nil {
			if err := ph.begin(p.redis); err != nil {
				return fmt.Errorf("redis can't be %s: %w", ph.name, err)
			}
		}
		for at := ph.from + time.Second; at <= ph.to; at += time.Second {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Until(p.start.Add(at))):
			}
			if at == p.duration {
				stop()
				beside.Wait() // answers under way belong to the last second
			}
			p.tell(w, i, at)
		}
	}
	return nil
}

// tell reads the meter at the end of a second, and prints it.
func (p *play) tell(w io.Writer, phase int, at time.Duration) {
	s := p.meter.read()
	s.at, s.phase, s.closed = at, phase, p.closed()
	p.length = time.Since(p.start)
	for _, c := range p.customers {
		s.promised = append(s.promised, promise(c.plan, p.length, s.outages, p.replicas))
	}
	p.told = append(p.told, s)
	s.print(w, p.phases[phase].name, p.replicas)
}

// closed returns the number of replicas that use Redis.
func (p *play) closed() int {
	n := 0
	for _, r := range p.fleet {
		if r.store.State() == fallback.StateClosed {
			n++
		}
	}
	return n
}

// broken returns the broken promises, or nil.
func (p *play) broken() error {
	var errs []error
	if n := p.meter.total.lost; n > 0 {
		errs = append(errs, fmt.Errorf("%d requests were lost, the first because of: %w", n, p.meter.loss))
	}
	if n := p.meter.total.failed; n > 0 {
		errs = append(errs, fmt.Errorf("%d requests were answered with a 5xx", n))
	}
	for i, c := range p.customers {
		for _, s := range p.told {
			if got, most := s.customers[i].admitted, s.promised[i]; got > most {
				errs = append(errs, fmt.Errorf("%s was admitted %d times in the first %v, where %d are promised", c.name, got, s.at, most))
				break
			}
		}
	}
	return errors.Join(errs...)
}
