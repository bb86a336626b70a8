package main

import (
	"cmp"
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/goweir/weir/examples/internal/crew"
	"github.com/goweir/weir/examples/internal/sharedredis"
	"github.com/goweir/weir/store"
)

// startUp is the maximum time for the workers to start and to end.
const startUp = 10 * time.Second

// play runs the providers and the workers, prints the events, and returns the broken
// promises, or nil.
func play(ctx context.Context, o options, s *sharedredis.Redis, w io.Writer) error {
	// A worker that hangs does not hang the run.
	ctx, cancel := context.WithTimeout(ctx, length+startUp)
	defer cancel()
	r := &result{enough: float64(o.enough) / 100}
	jobs := make([]job, workers)
	for _, plan := range plans {
		p, err := newProvider(plan)
		if err != nil {
			return err
		}
		defer func() { _ = p.server.Close() }()
		r.providers = append(r.providers, p)
		for i := range jobs {
			jobs[i].Providers = append(jobs[i].Providers, p.server.URL)
		}
	}
	for i := range jobs {
		jobs[i].Redis, jobs[i].Limiter, jobs[i].Worker = s.URL, s.Run, i
	}
	fleet, err := crew.Start(ctx, workerEnv, jobs)
	if err != nil {
		return err
	}
	defer fleet.Stop()
	introduce(w, s, r.providers)
	watch := s.Store.WatchBrakes(r.braked)
	defer watch.Stop()
	late := watchLateness()
	r.begin(time.Now())
	err = fleet.Tell()
	if err == nil {
		err = r.follow(ctx, w)
	}
	if err == nil {
		err = fleet.Tell()
	}
	r.late = late.stop()
	if err != nil {
		return err
	}
	if r.outcomes, err = crew.Outcomes[outcome](fleet); err != nil {
		return err
	}
	for _, o := range r.outcomes {
		r.late = max(r.late, o.Late)
	}
	r.print(w)
	return r.broken()
}

// result is the outcome of the run.
type result struct {
	enough    float64 // the minimum used share of the limits
	providers []*provider
	outcomes  []outcome
	late      time.Duration // the maximum delay of any process by the machine

	mu     sync.Mutex
	start  time.Time
	brakes []brake
}

// brake is a brake in the store, as this process heard of it.
type brake struct {
	at       time.Duration
	provider *provider
}

func (r *result) begin(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.start = now
	for _, p := range r.providers {
		p.mu.Lock()
		p.start = now
		p.mu.Unlock()
	}
}

// braked runs when a brake has changed a key's clock.
func (r *result) braked(_, key string, _ store.Clock) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.providers {
		if p.server.URL == key {
			r.brakes = append(r.brakes, brake{time.Since(r.start), p})
		}
	}
}

// braking returns the brakes so far.
func (r *result) braking() []brake {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.brakes)
}

// follow runs the providers' plans and prints the events, until the run is over.
func (r *result) follow(ctx context.Context, w io.Writer) error {
	var todo []event
	t := &timeline{w: w, result: r}
	for at := every; at <= length; at += every {
		todo = append(todo, event{at: at, do: func() error { t.row(at); return nil }})
	}
	for _, p := range r.providers {
		for _, e := range p.events() {
			do, what := e.do, "provider "+p.name+" "+e.what
			e.do = func() error { t.note(what); return do() }
			todo = append(todo, e)
		}
	}
	slices.SortStableFunc(todo, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	for _, e := range todo {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Until(r.start.Add(e.at))):
		}
		if err := e.do(); err != nil {
			return err
		}
	}
	return nil
}
