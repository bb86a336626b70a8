package weir

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/goweir/weir/internal/deadline"
	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
)

// errNoLease is the error of a method whose calls take no lease.
var errNoLease = fmt.Errorf("weir: a limiter with Config.InFlight is used with Acquire, TryAcquire or Do: %w", store.ErrUnsupported)

// decider asks the store: every decision of a Limiter passes through take or the
// store's shorter way, takeFast.
type decider struct {
	store    store.Store
	name     string
	limits   []Limit
	reserve  int   // Config.Reserve
	inFlight int64 // Config.InFlight; above 0: each call needs a lease
	events   observer
	// prepared is nil where the store has no shorter way for the limits.
	prepared store.Prepared
	source   store.Source // of prepared
}

// spare keeps the memory of charges for later calls. Stores do not keep them.
var spare = sync.Pool{New: func() any { return new([]store.Charge) }}

// done clears charges, which hold keys, and keeps their memory.
func done(charges *[]store.Charge) {
	clear(*charges)
	*charges = (*charges)[:0]
	spare.Put(charges)
}

// question is a request to the store about one key, without its limits. Limits are a
// parameter of their own, so the caller's slice need not escape.
type question struct {
	line.ID
	maxWait    time.Duration
	cancelable bool
	silent     bool // the hook sees the call of the store, and no decision
	hold       store.Hold
	granted    *store.Decision // set to a grant, which is refused if it came too late; nil: it stands
}

// ask is take for a question about a call without a lease, and checks it.
func (l *decider) ask(ctx context.Context, q *question, limits []Limit, d *store.Decision) error {
	if err := l.check(ctx, q.ID, false); err != nil {
		return err
	}
	return l.take(ctx, q, limits, d)
}

// take asks the store about a valid question, shows the decision to the hook, and leaves
// d zero with an error.
func (l *decider) take(ctx context.Context, q *question, limits []Limit, d *store.Decision) error {
	behind := line.InBackground(ctx)
	if behind {
		q.maxWait = 0
	}
	charges := spare.Get().(*[]store.Charge)
	*charges = l.charge(*charges, q.ID, limits, behind)
	err := l.send(ctx, q, *charges, d)
	done(charges)
	return err
}

// send asks the store about valid charges, and leaves d zero with an error. The hook sees
// the call, in the name of q.ID, with its decision or without.
func (l *decider) send(ctx context.Context, q *question, charges []store.Charge, d *store.Decision) (err error) {
	began := l.events.begin()
	*d, err = l.store.Take(ctx, store.Request{Charges: charges, MaxWait: q.maxWait, Cancelable: q.cancelable, Hold: q.hold, Checked: true})
	if err == nil && d.Allowed && q.granted != nil {
		*q.granted = *d
		err = refuseLate(ctx, d, time.Now())
	}
	switch {
	case err != nil:
		*d = store.Decision{}
	case l.events.hook == nil:
		return nil
	case !q.silent:
		l.events.decided(ctx, q.ID, d, Event{Kind: EventDecision, Op: "take", Took: time.Since(epoch) - began})
		return nil
	}
	return l.events.end(ctx, "take", q.ID, began, d.Source, err)
}

// takeFast asks the store's shorter way for units that are free now and are kept.
// It reports false where the store has none, and has charged nothing then.
func (l *decider) takeFast(ctx context.Context, key string, cost int64) (o store.Outcome, done bool, err error) {
	if l.prepared == nil || cost < 0 || key == "" || line.InBackground(ctx) || ctx.Err() != nil {
		return o, false, nil
	}
	return l.prepared.Take(key, cost)
}

// decidedFast shows the hook an outcome of the store's shorter way.
func (l *decider) decidedFast(ctx context.Context, id line.ID, o *store.Outcome) {
	if l.events.hook != nil {
		e := Event{Kind: EventDecision}
		e.Decision.set(o, l.source, l.limits[0], l.name)
		l.events.show(ctx, id, &e)
	}
}

// look returns the state of a key. It may take as long as a call that waits for maxWait.
func (l *decider) look(ctx context.Context, id line.ID, maxWait time.Duration) (d store.Decision, err error) {
	err = l.send(ctx, &question{ID: id, maxWait: maxWait, silent: true}, l.free(id.Key), &d)
	return d, err
}

// charge appends charges that take of a key under limits.
func (l *decider) charge(charges []store.Charge, id line.ID, limits []Limit, behind bool) []store.Charge {
	for i := range limits {
		charges = append(charges, store.Charge{Scope: l.name, Key: id.Key, Limit: store.Limit(limits[i]), Cost: id.Cost})
		if behind {
			c := &charges[len(charges)-1]
			c.Reserve = reserve(l.reserve, &c.Limit)
		}
	}
	return charges
}

// reserve returns how many units of a limit a background call leaves to others: the
// share rounded up, and at most all but one, so that it can be used at all. 0
// percent is the default.
func reserve(percent int, l *store.Limit) int64 {
	if percent == 0 {
		if l.Algorithm != store.GCRA {
			return 0
		}
		percent = 10
	}
	max := l.Max()
	return min((max*int64(percent)+99)/100, max-1)
}

// free returns charges of the limiter's limits that cost nothing.
func (l *decider) free(key string) []store.Charge {
	return l.charge(make([]store.Charge, 0, len(l.limits)), line.ID{Key: key}, l.limits, false)
}

// errZeroLimiter is the error of a Limiter that New did not make.
var errZeroLimiter = &store.ConfigError{Field: "Limiter", Want: "one made by New", Got: "a zero one"}

// checkKey refuses the empty key, and every key of a zero Limiter.
func (l *decider) checkKey(key string) error {
	switch {
	case l.store == nil:
		return errZeroLimiter
	case key == "":
		return errEmptyKey
	}
	return nil
}

// check reports the first fault of a call: an ended context, its key, its cost, or no lease
// where its limiter's calls need one.
func (l *decider) check(ctx context.Context, id line.ID, leased bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.checkKey(id.Key); err != nil {
		return err
	}
	if l.inFlight > 0 && id.Cost > 0 && !leased {
		return errNoLease
	}
	return store.CheckCost("cost", id.Cost)
}

// refusal returns the error of a refusal. The call waits for at most maxWait, or
// byDeadline until its context's deadline; 0 and false: not at all.
func (l *decider) refusal(id line.ID, d *store.Decision, byDeadline bool, maxWait time.Duration) error {
	e := &LimitedError{Scope: l.name, Key: id.Key, Cost: id.Cost, Limit: Limit(d.Limit), RetryAfter: d.RetryAfter, Reason: d.Reason}
	switch d.Reason {
	case store.ReasonLimited, store.ReasonPaused, store.ReasonInFlight:
		if e.PastDeadline = byDeadline; !byDeadline {
			e.MaxWait = maxWait
		}
	}
	return e
}

// refuseLate refuses a grant whose slot lies past the deadline: the round trip to the store
// took too long. It returns the error of an ended ctx. The store's answer came at now.
func refuseLate(ctx context.Context, d *store.Decision, now time.Time) (err error) {
	if err = ctx.Err(); err == nil && deadline.Passed(ctx, d.Delay, now) {
		d.Allowed, d.Reason, d.RetryAfter, d.Delay, d.Receipt = false, store.ReasonLimited, d.Delay, 0, nil
	}
	return err
}

// isRefusal reports whether a call failed because a limit refused it.
func isRefusal(err error) bool { return errors.Is(err, ErrLimited) }

// refuse returns a refusal that the limiter decides without the store.
func (l *decider) refuse(reason store.Reason, retryAfter time.Duration) store.Decision {
	return store.Decision{Reason: reason, Source: store.SourceLimiter, Limit: store.Limit(l.limits[0]), Scope: l.name, RetryAfter: retryAfter}
}

// turnAway shows a refusal of the limiter, and returns its error.
func (l *decider) turnAway(ctx context.Context, id line.ID, d store.Decision) error {
	l.events.decided(ctx, id, &d, Event{Kind: EventDecision})
	return l.refusal(id, &d, false, 0)
}

// checkFit is check for a call that may wait. It refuses a cost that never fits.
func (l *decider) checkFit(ctx context.Context, id line.ID, leased bool) error {
	if err := l.check(ctx, id, leased); err != nil || id.Cost <= 1 { // 1 always fits.
		return err
	}
	for i := range l.limits {
		if id.Cost > l.limits[i].Max() {
			d := l.refuse(store.ReasonNeverFits, store.Never)
			d.Limit = store.Limit(l.limits[i])
			return l.turnAway(ctx, id, d)
		}
	}
	return nil
}
