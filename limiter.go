package weir

import (
	"context"
	"errors"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/goweir/weir/store"
)

// Store decides and remembers: see package store for its contract, and below
// store/ for implementations.
type Store = store.Store

// Config is what [New] makes a Limiter from.
type Config struct {
	// Store decides. Required.
	Store Store
	// Limits hold for every key, together: a call is admitted by all of them
	// or charged on none. Required, at least one, and no two of the same
	// policy name (see [Limit.Policy]).
	Limits []Limit
	// Name keeps this limiter's keys apart from those of other limiters on the
	// same store, and is the Scope in events. At most 64 bytes of printable
	// ASCII. Empty is a name too: limiters with different limits on one store
	// need different names.
	Name string
	// MaxWait is the longest a waiting call waits for its slot. 0: bounded by
	// the call's context alone.
	MaxWait time.Duration
	// MaxWaiters is the most calls of this Limiter that may wait at once, over
	// all keys; further ones are refused with TooManyWaiters and without asking
	// the store. A call counts from its start until it is admitted, so also
	// while the store is asked. 0: no bound.
	MaxWaiters int
	// MaxPause is the longest that a key can be paused for, and slowed down by
	// what an upstream says, counted from when it was set last: at most
	// MaxPeriod/4. 0: DefaultMaxPause.
	MaxPause time.Duration
	// Leave is the share of each limit, in percent, that calls of the background
	// class leave to the others (see [InBackground]): 0 to 99. It is rounded up to
	// whole units, and to at most all but one: of a limit of one unit nothing is
	// left. What they leave of a window nobody may come to use. 0: 10 % of a GCRA
	// limit's burst, which does not slow them down, and nothing of a window.
	Leave int
	// AllowEmptyKey admits the empty key, which is otherwise refused with
	// ErrEmptyKey: it usually means that the identity was not found.
	AllowEmptyKey bool
	// InFlight is the most calls of a key that may be in flight at once, in all
	// processes together: they are made with Acquire, TryAcquire or Do, and with
	// no other method. It needs a Store that is a [store.Holder]. 0: no bound.
	InFlight int64
	// Lease is how long a call counts as in flight after its process died. While
	// the process lives, calls may take as long as they like: their leases are
	// renewed three times in that time. 1 s to MaxLease, in whole microseconds;
	// 0: DefaultLease. It must be 0 without InFlight.
	Lease time.Duration
	// Hook is told of decisions, waits and store errors. Nil: nobody is.
	Hook Hook
}

// Limiter binds a Store to limits. It is safe for concurrent use.
//
// Four methods cover four needs: Allow decides now and never waits; Wait
// blocks until the call's slot; Reserve books a slot and leaves the waiting to
// the caller; Do runs a function in its slot. AllowN, WaitN and ReserveN take
// a cost, DoN an estimate of one, the others cost 1. With Config.InFlight calls
// have an end too, so they are made with Acquire, TryAcquire or Do.
type Limiter struct {
	cfg     Config
	calls   sync.Pool // of *call, for its limits
	others  sync.Pool // of *call, for other limits
	waits   waits
	watcher watcher
	behind  behind
	herds   herds
	// prepared is nil where the store has no shorter way for the limits.
	prepared store.Prepared
	// flights is nil without Config.InFlight.
	flights *flights
}

// New returns a Limiter, or a *[ConfigError] that names the wrong field. It
// does no I/O.
func New(cfg Config) (*Limiter, error) {
	switch {
	case cfg.Store == nil:
		return nil, &ConfigError{Field: "Config.Store", Want: "a store", Got: "nil"}
	case !store.ValidName(cfg.Name):
		return nil, &ConfigError{Field: "Config.Name", Want: "at most 64 bytes of printable ASCII", Got: strconv.QuoteToASCII(cfg.Name)}
	case cfg.MaxWait < 0:
		return nil, &ConfigError{Field: "Config.MaxWait", Want: "0 or more", Got: cfg.MaxWait.String()}
	case cfg.MaxWaiters < 0:
		return nil, &ConfigError{Field: "Config.MaxWaiters", Want: "0 or more", Got: strconv.Itoa(cfg.MaxWaiters)}
	}
	if cfg.Leave < 0 || cfg.Leave > 99 {
		return nil, &ConfigError{Field: "Config.Leave", Want: "0 to 99", Got: strconv.Itoa(cfg.Leave)}
	}
	if cfg.MaxPause < 0 || cfg.MaxPause > store.MaxPeriod/4 {
		return nil, &ConfigError{Field: "Config.MaxPause", Want: "0 to 12.5 years", Got: cfg.MaxPause.String()}
	}
	if cfg.MaxPause == 0 {
		cfg.MaxPause = DefaultMaxPause
	}
	if err := store.CheckLimits("Config.Limits", cfg.Limits); err != nil {
		return nil, err
	}
	if err := cfg.checkInFlight(); err != nil {
		return nil, err
	}
	cfg.Limits = append([]Limit(nil), cfg.Limits...)
	l := &Limiter{cfg: cfg}
	l.calls.New = func() any { return l.newCall() }
	l.others.New = func() any { return new(call) }
	l.prepare()
	if cfg.InFlight > 0 {
		l.flights = newFlights(l)
	}
	return l, nil
}

// Limits returns a copy of the limiter's limits.
func (l *Limiter) Limits() []Limit { return append([]Limit(nil), l.cfg.Limits...) }

// Name returns the limiter's name.
func (l *Limiter) Name() string { return l.cfg.Name }

// Allow reports whether one unit of key may be used now, and takes it if so. A
// refusal is a Decision, not an error; an error is a failure of the store
// ([ErrStore]), of the key, or the end of ctx.
func (l *Limiter) Allow(ctx context.Context, key string) (d Decision, err error) {
	err = l.takeNow(ctx, key, 1, &d)
	return d, err
}

// AllowN is Allow for a cost. A cost of 0 looks without taking.
func (l *Limiter) AllowN(ctx context.Context, key string, cost int64) (d Decision, err error) {
	err = l.takeNow(ctx, key, cost, &d)
	return d, err
}

// AllowLimits is AllowN with other limits than the limiter's, for limits that
// depend on the call, as a customer's plan does. They are what Config.Limits may
// be: at least one, and no two of the same policy name. A key's limits may change
// from call to call: the share already used carries over.
func (l *Limiter) AllowLimits(ctx context.Context, key string, cost int64, limits []Limit) (Decision, error) {
	if err := store.CheckLimits("limits", limits); err != nil {
		return Decision{}, err
	}
	d, err := l.take(ctx, key, cost, limits, 0, false)
	return decisionOf(&d), err
}

// Peek returns what Allow would find, and takes nothing: Allowed is always
// true, Remaining and ResetAfter are the state.
func (l *Limiter) Peek(ctx context.Context, key string) (Decision, error) {
	d, err := l.take(ctx, key, 0, l.cfg.Limits, 0, false)
	return decisionOf(&d), err
}

// Reset forgets what is known of key, a pause too. It returns ErrUnsupported when
// the store can't.
//
// Calls of this Limiter that wait for key book again, at a [store.Braker]; what waits
// elsewhere keeps the slot that it has, as far away as a pause has put it. To free
// those as well, call [Limiter.Resume] first.
func (l *Limiter) Reset(ctx context.Context, key string) error {
	r, ok := l.cfg.Store.(store.Resetter)
	if !ok {
		return ErrUnsupported
	}
	if err := l.checkKey(key); err != nil {
		return err
	}
	err := l.storeError(ctx, "reset", key, 0, r.Reset(ctx, l.cfg.Name, key))
	if _, brakes := l.cfg.Store.(store.Braker); brakes && err == nil {
		l.braked(l.cfg.Name, key, math.MaxInt64) // Their slots are forgotten, whenever they were granted.
	}
	return err
}

func (l *Limiter) checkKey(key string) error {
	if key == "" && !l.cfg.AllowEmptyKey {
		return ErrEmptyKey
	}
	return nil
}

// check reports what keeps a call from being decided at all.
func (l *Limiter) check(ctx context.Context, key string, cost int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.checkKey(key); err != nil {
		return err
	}
	if cost < 0 {
		return store.CheckCost("cost", cost)
	}
	return nil
}

// checkTake is check for a call that has no end.
func (l *Limiter) checkTake(ctx context.Context, key string, cost int64) error {
	if err := l.check(ctx, key, cost); err != nil {
		return err
	}
	if l.flights != nil && cost > 0 {
		return errNoLease
	}
	return nil
}

// call is what one decision needs; pooled, so that deciding does not allocate.
type call struct {
	charges []store.Charge
	other   bool // they are not of the limiter's limits, which are filled in once
}

func (l *Limiter) newCall() *call {
	c := &call{charges: make([]store.Charge, len(l.cfg.Limits))}
	for i := range c.charges {
		c.charges[i] = store.Charge{Scope: l.cfg.Name, Limit: store.Limit(l.cfg.Limits[i])}
	}
	return c
}

// take is what every deciding method comes to. The limits are valid.
func (l *Limiter) take(ctx context.Context, key string, cost int64, limits []Limit, maxWait time.Duration, cancelable bool) (d store.Decision, err error) {
	if err = l.checkTake(ctx, key, cost); err != nil {
		return d, err
	}
	err = l.decide(ctx, key, cost, limits, maxWait, cancelable, &d)
	return d, err
}

// decide has the store decide on a request that was checked. The decision, which
// is large, is not copied more often than has to be.
func (l *Limiter) decide(ctx context.Context, key string, cost int64, limits []Limit, maxWait time.Duration, cancelable bool, d *store.Decision) (err error) {
	behind := inBackground(ctx)
	if behind {
		maxWait = 0
	}
	c := l.charge(key, cost, limits, behind)
	*d, err = l.cfg.Store.Take(ctx, store.Request{Charges: c.charges, MaxWait: maxWait, Cancelable: cancelable, Checked: true})
	l.done(c)
	if err != nil {
		*d = store.Decision{}
		return l.storeError(ctx, "take", key, cost, err)
	}
	if l.cfg.Hook != nil {
		l.observeDecision(ctx, queueID{key, cost}, d)
	}
	return nil
}

// charge returns the charges of cost units of key, until done.
func (l *Limiter) charge(key string, cost int64, limits []Limit, behind bool) (c *call) {
	if &limits[0] == &l.cfg.Limits[0] {
		c = l.calls.Get().(*call)
	} else {
		c = l.others.Get().(*call)
		c.other, c.charges = true, c.charges[:0]
		for i := range limits {
			c.charges = append(c.charges, store.Charge{Scope: l.cfg.Name, Limit: store.Limit(limits[i])})
		}
	}
	for i := range c.charges {
		at := &c.charges[i]
		at.Key, at.Cost = key, cost
		if behind {
			at.Reserve = l.leave((*Limit)(&at.Limit))
		}
	}
	return c
}

func (l *Limiter) done(c *call) {
	if c.other {
		clear(c.charges)
		l.others.Put(c)
		return
	}
	for i := range c.charges {
		c.charges[i].Key, c.charges[i].Reserve = "", 0
	}
	l.calls.Put(c)
}

func (l *Limiter) observeDecision(ctx context.Context, id queueID, d *store.Decision) {
	if l.cfg.Hook != nil {
		l.observe(ctx, id, new(decisionOf(d)))
	}
}

// observe calls the hook, which is not nil.
func (l *Limiter) observe(ctx context.Context, id queueID, d *Decision) {
	l.cfg.Hook.Observe(ctx, Event{Kind: EventDecision, Scope: l.cfg.Name, Key: id.key, Cost: id.cost, Decision: *d})
}

// storeError turns what a store returned into what the caller sees: the end of
// its own context, a mistake in its request, or a *StoreError.
func (l *Limiter) storeError(ctx context.Context, op, key string, cost int64, err error) error {
	if err == nil {
		return nil
	}
	if ended := ended(ctx); ended != nil {
		return ended
	}
	if errors.Is(err, ErrConfig) || errors.Is(err, ErrUnsupported) {
		return err
	}
	err = &StoreError{Op: op, Err: err}
	if l.cfg.Hook != nil {
		l.cfg.Hook.Observe(ctx, Event{Kind: EventStoreError, Scope: l.cfg.Name, Key: key, Cost: cost, Err: err})
	}
	return err
}

// endGrace is how long a context whose deadline has passed is waited for to say so.
const endGrace = 10 * time.Millisecond

// ended returns ctx.Err() as it is once a deadline that has passed is heard of: a
// connection with the same deadline may hear of it first.
func ended(ctx context.Context) error {
	err := ctx.Err()
	if deadline, ok := ctx.Deadline(); err != nil || !ok || time.Now().Before(deadline) {
		return err
	}
	grace := time.NewTimer(endGrace)
	defer grace.Stop()
	select {
	case <-ctx.Done():
	case <-grace.C:
	}
	return ctx.Err()
}

func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
