package weir

import (
	"context"
	"time"

	"github.com/goweir/weir/store"
)

// Level is what a call takes of one Limiter where several decide together, as of
// a user within an organisation within everybody: see [AllowLevels].
type Level struct {
	// Limiter is whose limits hold. Required. The Limiters of all levels are over
	// the same Store, a pointer or another type that can be compared, each has a
	// Name of its own, and none has Config.InFlight.
	Limiter *Limiter
	// Key is who is counted by this level.
	Key string
	// Limits hold in place of the Limiter's, as in [Limiter.AllowLimits]. Nil: the
	// Limiter's own.
	Limits []Limit
	// Cost is how many units are taken. 0: 1.
	Cost int64
	// Peek takes nothing of this level, which then refuses nothing: the decision
	// tells its state. Cost must be 0. False: Cost is taken.
	Peek bool
}

// AllowLevels is [Limiter.Allow] for several levels, narrowest first: every limit
// of every level admits the call, or it is refused and nothing is taken of any.
// Decision.Scope is the name of the level whose limit binds, of a refusal the
// level that refuses, and Decision.Charges tells the state of the limits of all
// levels, one level's after the other's. RetryAfter holds for all of them.
//
// The store decides in one call where it can, at one instant. A Redis cluster
// decides level after level and gives back what it took when a later one refuses:
// see package redisstore.
//
// The Hook of the first level's Limiter is told of the decision, once: with the
// binding level's name as Scope, and its key and cost. What is wrong with a level
// is a *[ConfigError]. A call of the background class leaves of each level what
// that Limiter says (see [InBackground]).
func AllowLevels(ctx context.Context, levels ...Level) (Decision, error) {
	if err := checkLevels(ctx, levels); err != nil {
		return Decision{}, err
	}
	d, err := takeLevels(ctx, levels, 0, false)
	if err == nil {
		observeLevels(ctx, levels, &d)
	}
	return decisionOf(&d), err
}

// takeLevels has the store decide on levels that were checked, all at once.
func takeLevels(ctx context.Context, levels []Level, maxWait time.Duration, cancelable bool) (store.Decision, error) {
	l, behind := levels[0].Limiter, inBackground(ctx)
	c := l.others.Get().(*call)
	c.other, c.charges = true, c.charges[:0]
	for i := range levels {
		v := &levels[i]
		limits := v.limits()
		for j := range limits {
			charge := store.Charge{Scope: v.Limiter.cfg.Name, Key: v.Key, Limit: store.Limit(limits[j]), Cost: v.cost()}
			if behind {
				charge.Reserve = v.Limiter.leave(&limits[j])
			}
			c.charges = append(c.charges, charge)
		}
	}
	d, err := l.cfg.Store.Take(ctx, store.Request{Charges: c.charges, MaxWait: maxWait, Cancelable: cancelable, Checked: true})
	l.done(c)
	if err != nil {
		return store.Decision{}, l.storeError(ctx, "take", levels[0].Key, levels[0].cost(), err)
	}
	return d, nil
}

// observeLevels tells of a decision, in the name of the binding level.
func observeLevels(ctx context.Context, levels []Level, d *store.Decision) {
	if hook := levels[0].Limiter.cfg.Hook; hook != nil {
		at := bindingLevel(levels, d)
		hook.Observe(ctx, Event{Kind: EventDecision, Scope: at.Limiter.cfg.Name, Key: at.Key, Cost: at.cost(), Decision: decisionOf(d)})
	}
}

// bindingLevel returns the level whose limit binds.
func bindingLevel(levels []Level, d *store.Decision) *Level {
	for i := range levels {
		if levels[i].Limiter.cfg.Name == d.Scope {
			return &levels[i]
		}
	}
	return &levels[0] // A store that does not say.
}

func (v *Level) limits() []Limit {
	if v.Limits == nil {
		return v.Limiter.cfg.Limits
	}
	return v.Limits
}

func (v *Level) cost() int64 {
	if v.Cost == 0 && !v.Peek {
		return 1
	}
	return v.Cost
}
