package weir

import (
	"context"
	"slices"
	"strconv"

	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/internal/names"
	"github.com/goweir/weir/store"
)

// Level is a call's part of one Limiter where several decide together: a user's,
// an organisation's, and one for all. See [AllowLevels].
type Level struct {
	// Limiter has the limits. Required. The Limiters of all levels are over the same
	// Store, a pointer or another type that can be compared. Each has a Name of its own,
	// and none has Config.InFlight.
	Limiter *Limiter
	// Key is the party that this level counts.
	Key string
	// Limits hold in place of the Limiter's, as in [Limiter.AllowLimits]. Nil: the
	// Limiter's own.
	Limits []Limit
	// Cost is how many units are taken. 0: 1.
	Cost int64
	// Peek takes nothing of this level, which then refuses nothing: the decision has its
	// state. Cost must be 0. False: Cost is taken.
	Peek bool
}

// AllowLevels is [Limiter.Allow] for several levels, narrowest first: every limit of every
// level admits the call, or the call is refused and takes nothing of any.
// Decision.Scope is the name of the binding level: for a refusal the level that refuses.
// Decision.Charges has the states of the limits of all levels, level by level. RetryAfter
// holds for all of them.
//
// The store decides in one call if it can, at one instant. A Redis cluster decides level
// after level, and gives the units back when a later level refuses: see package
// redisstore.
//
// The Hook of the first level's Limiter observes the decision, once: with the binding
// level's name as Scope, and its key and cost. A wrong level is a *[ConfigError]. A call
// of the background class leaves of each level the Config.Reserve of its Limiter (see
// [InBackground]).
func AllowLevels(ctx context.Context, levels ...Level) (Decision, error) {
	if err := checkLevels(ctx, levels); err != nil {
		return Decision{}, err
	}
	d, err := takeLevels(ctx, levels, false)
	if err == nil {
		observeLevels(ctx, levels, &d)
	}
	return decisionOf(&d), err
}

// takeLevels makes the store decide on valid levels, now and all at once.
func takeLevels(ctx context.Context, levels []Level, cancelable bool) (d store.Decision, err error) {
	l, behind := levels[0].Limiter, line.InBackground(ctx)
	charges := l.other.Get().(*[]store.Charge)
	*charges = (*charges)[:0]
	for i := range levels {
		v := &levels[i]
		from := len(*charges)
		*charges = v.Limiter.append(*charges, v.limits())
		v.Limiter.fill((*charges)[from:], v.id(), behind)
	}
	err = l.send(ctx, levels[0].id(), &store.Request{Charges: *charges, Cancelable: cancelable}, &d)
	l.done(charges, false)
	return d, err
}

// observeLevels shows the hook a decision, in the name of the binding level.
func observeLevels(ctx context.Context, levels []Level, d *store.Decision) {
	if hook := levels[0].Limiter.events.hook; hook != nil {
		at := bindingLevel(levels, d)
		at.events(hook).decision(ctx, at.id(), d)
	}
}

// bindingLevel returns the level whose limit binds.
func bindingLevel(levels []Level, d *store.Decision) *Level {
	for i := range levels {
		if levels[i].Limiter.name == d.Scope {
			return &levels[i]
		}
	}
	return &levels[0] // A store that does not say.
}

// events returns an observer that shows the level's events to a hook.
func (v *Level) events(hook Hook) *observer { return &observer{v.Limiter.name, hook} }

// id returns the level's key and cost.
func (v *Level) id() line.ID { return line.ID{Key: v.Key, Cost: v.cost()} }

func (v *Level) limits() []Limit {
	if v.Limits == nil {
		return v.Limiter.limits
	}
	return v.Limits
}

func (v *Level) cost() int64 {
	if v.Cost == 0 && !v.Peek {
		return 1
	}
	return v.Cost
}

// checkLevels reports the reason why levels can't be decided.
func checkLevels(ctx context.Context, levels []Level) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(levels) == 0 {
		return &store.ConfigError{Field: "levels", Want: "at least one level", Got: "none"}
	}
	for i := range levels {
		if err := levels[i].check(i, levels[:i]); err != nil {
			return err
		}
	}
	return nil
}

// check reports the first wrong field of the i-th level.
func (v *Level) check(i int, before []Level) error {
	if err := v.checkLimiter(i, before); err != nil {
		return err
	}
	switch {
	case v.Cost < 0:
		return &store.ConfigError{Field: levelField(i, "Cost"), Want: "0 or more", Got: strconv.FormatInt(v.Cost, 10)}
	case v.Peek && v.Cost != 0:
		return &store.ConfigError{Field: levelField(i, "Cost"), Want: "0 with Peek", Got: strconv.FormatInt(v.Cost, 10)}
	}
	if v.Limits != nil {
		if err := store.CheckLimits(levelField(i, "Limits"), v.Limits); err != nil {
			return err
		}
	}
	return v.Limiter.checkKey(v.Key)
}

// checkLimiter reports the reason why the i-th level's Limiter can't decide with those of
// the levels before it.
func (v *Level) checkLimiter(i int, before []Level) error {
	want, got := "", v.Limiter.unmade()
	switch {
	case got != "":
		want = "a limiter made by New"
	case v.Limiter.flights != nil:
		want = "a limiter without Config.InFlight"
	case len(before) > 0 && !names.SameStore(before[0].Limiter.store, v.Limiter.store):
		want = "a limiter over the first level's store, which can be compared"
	case slices.ContainsFunc(before, func(b Level) bool { return b.Limiter.name == v.Limiter.name }):
		want = "a limiter with a name that no other level's has"
	default:
		return nil
	}
	if got == "" {
		got = strconv.Quote(v.Limiter.name)
	}
	return &store.ConfigError{Field: levelField(i, "Limiter"), Want: want, Got: got}
}

// DecidesWith returns nil when l and a wider Limiter can be levels of one call, or
// a *[ConfigError] that says why they can't. See [Level].
func (l *Limiter) DecidesWith(wider *Limiter) error {
	levels := [2]Level{{Limiter: l}, {Limiter: wider}}
	for i := range levels {
		if err := levels[i].checkLimiter(i, levels[:i]); err != nil {
			return err
		}
	}
	return nil
}

func levelField(i int, field string) string { return "levels[" + strconv.Itoa(i) + "]." + field }
