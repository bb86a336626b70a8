package weir

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/internal/flight"
	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/internal/names"
	"github.com/goweir/weir/store"
)

// Limiter binds a Store to limits. It is safe for concurrent use. Each call of a zero
// Limiter fails with a *[ConfigError].
//
// Four methods cover four needs: Allow decides now and never waits; Wait
// blocks until the call's slot; Reserve books a slot and leaves the waiting to
// the caller; Do runs a function in its slot. AllowN, WaitN and ReserveN take
// a cost, DoN an estimate of one, the others cost 1. With Config.InFlight calls
// have an end too, so they are made with Acquire, TryAcquire or Do.
type Limiter struct {
	decider
	maxWait    time.Duration
	maxWaiters int
	maxPause   time.Duration
	lease      time.Duration
	lines      *line.Lines
	background line.Background
	// flights is nil without Config.InFlight.
	flights *flight.Flights
	laters  laters
	waiting atomic.Int64  // calls
	user    *names.User   // keeps the name
	rules   []store.Limit // limits, for the store's side
}

// New returns a Limiter, or a *[ConfigError] that names the wrong field. It
// does no I/O.
//
// New refuses a Name that another limiter of this process has on the same store with
// other limits or another InFlight: the two would charge one state by different rules.
// Limiters with the same limits and InFlight may share a name. A limiter that is no
// longer reachable does not count: before New refuses, it collects garbage, up to five
// times. A program that changes its limits while it runs drops the old limiter first.
// Or it keeps one limiter, and passes the limits with each call: see
// [Limiter.AllowLimits] and [Level]. New does not compare limiters of other processes,
// of other store values, or on stores without fields.
func New(cfg Config) (*Limiter, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	limits := storeLimits(cfg.Limits)
	user, err := names.Claim(cfg.Name, cfg.Store, names.Rules{Limits: limits, InFlight: cfg.InFlight})
	if err != nil {
		return nil, err
	}
	events := observer{cfg.Name, cfg.Hook}
	l := &Limiter{
		user: user, rules: limits,
		decider: decider{
			store: cfg.Store, name: cfg.Name, limits: cfg.Limits, reserve: cfg.Reserve, inFlight: cfg.InFlight, events: events,
		},
		maxWait: cfg.MaxWait, maxWaiters: cfg.MaxWaiters, maxPause: cfg.MaxPause, lease: cfg.Lease,
		laters: laters{events: events, turns: make(chan struct{}, maxLater)},
	}
	if p, ok := l.store.(store.Preparer); ok && len(l.limits) == 1 && l.inFlight == 0 {
		if l.prepared = p.Prepare(l.store, l.name, store.Limit(l.limits[0])); l.prepared != nil {
			l.source = l.prepared.Source()
		}
	}
	l.lines = l.newLines()
	if l.inFlight > 0 {
		l.flights = l.newFlights()
	}
	return l, nil
}

// unmade describes a Limiter that New did not make; "" when it did.
func (l *Limiter) unmade() string {
	switch {
	case l == nil:
		return "nil"
	case l.store == nil:
		return "a zero one"
	}
	return ""
}

// Allow reports whether one unit of key may be used now, and takes it if so. A refusal
// is a Decision, not an error. An error is a failure of the store ([ErrStore]), an empty
// key ([ErrNoKey]), or the end of ctx.
func (l *Limiter) Allow(ctx context.Context, key string) (d Decision, err error) {
	err = l.allow(ctx, key, 1, &d)
	return d, err
}

// AllowN is Allow for a cost. A cost of 0 looks without taking, one below 0 is a *[ConfigError].
func (l *Limiter) AllowN(ctx context.Context, key string, cost int64) (d Decision, err error) {
	err = l.allow(ctx, key, cost, &d)
	return d, err
}

// AllowLimits is AllowN with other limits than the limiter's, for limits that depend on
// the call, such as those of a customer's plan. There is at least one, and no two have
// the same policy name, as in Config.Limits. A key's limits may change from call to
// call: the share already used carries over.
func (l *Limiter) AllowLimits(ctx context.Context, key string, cost int64, limits []Limit) (Decision, error) {
	if err := store.CheckLimits("limits", limits); err != nil {
		return Decision{}, err
	}
	var d store.Decision
	err := l.ask(ctx, &question{ID: line.ID{Key: key, Cost: cost}}, limits, &d)
	return decisionOf(&d), err
}

// Peek returns the state of key and takes nothing: Allowed is always true, and
// Remaining and ResetAfter are the state. A paused key has no units remaining.
func (l *Limiter) Peek(ctx context.Context, key string) (Decision, error) {
	return l.AllowN(ctx, key, 0)
}

// allow decides on units that are free now and are kept. It sets d, which was
// zero.
func (l *Limiter) allow(ctx context.Context, key string, cost int64, d *Decision) error {
	id := line.ID{Key: key, Cost: cost}
	switch o, done, err := l.takeFast(ctx, key, cost); {
	case err != nil:
		return l.events.end(ctx, "take", id, l.events.begin(), l.source, err)
	case done:
		d.set(&o, l.source, l.limits[0], l.name)
		l.decidedFast(ctx, id, &o)
		return nil
	}
	var decided store.Decision
	err := l.ask(ctx, &question{ID: id}, l.limits, &decided)
	d.from(&decided)
	return err
}

// Config returns the limiter's configuration, with the defaults that New has set. That of
// a zero Limiter is zero.
func (l *Limiter) Config() Config {
	return Config{
		Store: l.store, Limits: slices.Clone(l.limits), Name: l.name, MaxWait: l.maxWait, MaxWaiters: l.maxWaiters, MaxPause: l.maxPause,
		Reserve: l.reserve, InFlight: l.inFlight, Lease: l.lease, Hook: l.events.hook,
	}
}

// Name returns the limiter's name.
func (l *Limiter) Name() string { return l.name }

// Stats returns how many calls of this Limiter wait now, for a slot or for room, and how
// many leases its calls hold: numbers of this process alone, for gauges. It asks no store,
// and is safe for concurrent use. Both are 0 for a zero Limiter, and inFlight without
// Config.InFlight.
func (l *Limiter) Stats() (waiting, inFlight int64) {
	if l.flights != nil {
		inFlight = int64(l.flights.Held())
	}
	return l.waiting.Load(), inFlight
}

// stored returns limits for the store's side.
func (l *Limiter) stored(limits []Limit) []store.Limit {
	if &limits[0] == &l.limits[0] {
		return l.rules
	}
	return storeLimits(limits)
}

// newLines connects the waiting calls to the store.
func (l *Limiter) newLines() *line.Lines {
	cfg := line.Config{
		Max: l.maxWaiters,
		Slow: func(waited time.Duration) {
			slog.Warn("weir: a call has waited for over a minute; a shorter MaxWait or deadline refuses such calls",
				"limiter", l.name, "waited", waited.Round(time.Second))
		},
	}
	if c, ok := l.store.(store.Canceler); ok {
		cfg.Cancel = func(ctx context.Context, id line.ID, receipt any) error {
			return l.events.detached(ctx, "cancel", id, line.GiveBackTimeout, func(ctx context.Context) error { return c.Cancel(ctx, receipt) })
		}
	}
	if b, ok := l.store.(store.Braker); ok {
		cfg.Watch = func(f func(key string, c store.Clock)) store.Watch {
			return b.WatchBrakes(func(scope, key string, c store.Clock) {
				if scope == l.name {
					f(key, c)
				}
			})
		}
		cfg.Clock = func(ctx context.Context, id line.ID) (c store.Clock, err error) {
			defer l.events.recovered(ctx, "take", id, &err)
			d, err := l.look(ctx, id, store.MaxPeriod)
			return d.Clock, err
		}
	}
	return line.New(cfg)
}

// newFlights connects the calls in flight to the store, which is a Holder.
func (l *Limiter) newFlights() *flight.Flights {
	holder := l.store.(store.Holder)
	call := func(op, key string, do func(ctx context.Context) error) error {
		return l.events.detached(context.Background(), op, line.ID{Key: key}, min(line.GiveBackTimeout, l.lease/3), do)
	}
	return flight.New(flight.Config{
		Max: l.inFlight, Lease: l.lease,
		Release: func(key string, ids []string) error {
			return call("release", key, func(ctx context.Context) error { return holder.Release(ctx, l.name, key, ids...) })
		},
		Renew: func(key string, ids []string) (lost []string, err error) {
			err = call("renew", key, func(ctx context.Context) (err error) {
				lost, err = holder.Renew(ctx, l.name, key, l.lease, ids...)
				return err
			})
			return lost, err
		},
		Lost: func(key string) {
			l.events.show(context.Background(), line.ID{Key: key}, &Event{Kind: EventLeaseLost})
		},
		Stuck: func() {
			slog.Warn("weir: this process holds all calls in flight of a key, each for longer than Config.Lease; are leases released and response bodies closed?",
				"limiter", l.name, "in_flight", l.inFlight, "lease", l.lease)
		},
	})
}

// lineOf returns the line of calls under limits.
func (l *Limiter) lineOf(key string, cost int64, limits []Limit) line.ID {
	id := line.ID{Key: key, Cost: cost}
	if !slices.Equal(limits, l.limits) {
		id.Limits = fmt.Sprintf("%#v", limits)
	}
	return id
}
