package weir

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/internal/names"
	"github.com/goweir/weir/internal/product"
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
	// Peek takes nothing of this level, and this level refuses nothing: the decision shows
	// its state. Cost must be 0. False: Cost is taken.
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
	charges := spare.Get().(*[]store.Charge)
	for i := range levels {
		v := &levels[i]
		*charges = v.Limiter.charge(*charges, v.id(), v.limits(), behind)
	}
	err = l.send(ctx, &question{ID: levels[0].id(), cancelable: cancelable, silent: true}, *charges, &d)
	done(charges)
	return d, err
}

// observeLevels shows the hook a decision, in the name of the binding level.
func observeLevels(ctx context.Context, levels []Level, d *store.Decision) {
	at := bindingLevel(levels, d)
	at.events(levels).decided(ctx, at.id(), d, Event{Kind: EventDecision})
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

// events returns an observer that shows the level's events to the hook of the first level.
func (v *Level) events(levels []Level) *observer {
	return &observer{v.Limiter.name, levels[0].Limiter.events.hook}
}

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
	wrong := func(field, want, got string) error {
		return &store.ConfigError{Field: "levels[" + strconv.Itoa(i) + "]." + field, Want: want, Got: got}
	}
	if got := v.Limiter.unmade(); got != "" {
		return wrong("Limiter", "a limiter made by New", got)
	}
	wrongLimiter := func(want string) error { return wrong("Limiter", want, strconv.Quote(v.Limiter.name)) }
	switch {
	case v.Limiter.flights != nil:
		return wrongLimiter("a limiter without Config.InFlight")
	case i > 0 && !names.SameStore(before[0].Limiter.store, v.Limiter.store):
		return wrongLimiter("a limiter over the first level's store, which can be compared")
	case slices.ContainsFunc(before, func(b Level) bool { return b.Limiter.name == v.Limiter.name }):
		return wrongLimiter("a limiter with a name that no other level's has")
	case v.Cost < 0:
		return wrong("Cost", "0 or more", strconv.FormatInt(v.Cost, 10))
	case v.Peek && v.Cost != 0:
		return wrong("Cost", "0 with Peek", strconv.FormatInt(v.Cost, 10))
	}
	if v.Limits != nil && store.CheckLimits("", v.Limits) != nil {
		return store.CheckLimits("levels["+strconv.Itoa(i)+"].Limits", v.Limits)
	}
	return v.Limiter.checkKey(v.Key)
}

// reserveLevels takes of all levels at once, now.
func reserveLevels(ctx context.Context, levels []Level) (*Reservation, store.Decision, error) {
	d, err := takeLevels(ctx, levels, true)
	if err != nil || !d.Allowed {
		return nil, d, err
	}
	if err := ctx.Err(); err != nil {
		first := levels[0].Limiter
		line.Linger(first.lines.HandBack(ctx, line.ID{Key: levels[0].Key}, d.Receipt))
		return nil, store.Decision{}, err
	}
	r := &Reservation{limiter: levels[0].Limiter, id: levels[0].id(), decision: d, at: time.Now()}
	if len(levels) > 1 {
		r.levels = make([]levelBooked, len(levels))
	}
	for i := range r.levels {
		v := &levels[i]
		r.levels[i] = levelBooked{limiter: v.Limiter, id: v.id(), charges: len(v.limits())}
	}
	return r, d, nil
}

// WaitLevels is [AllowLevels] for a call that may wait, or may not be made, or whose
// cost is corrected afterwards. It waits for at most maxWait, and not past the deadline
// of ctx. A maxWait below 0 is a *[ConfigError]. WaitLevels returns when the call's slot
// has come, so the Reservation has no Delay. Cancel gives all units back to all levels;
// Settle corrects the cost.
//
// A refusal is a Decision, not an error, and its Reservation is nil. If ctx ends first,
// WaitLevels returns the context's error and gives the granted units back.
//
// A call that all levels admit now does not wait, and neither does any with a maxWait of 0.
// Otherwise the call waits level by level, the narrowest first: while it waits on a
// narrow level it holds up no call on a wide one. Each level is a call of the store, on
// a cluster as on one server. On each level the call waits as [Limiter.Wait] does: in
// line, counted against the MaxWaiters of that Limiter, and longer if the level's key is
// paused meanwhile.
//
// The booked slots are given back when a later level refuses or ctx ends. A call that
// was refused is then decided on once more, without waiting. Calls of the background
// class do not wait (see [InBackground]).
//
// A level counts a call at its own slot. A call that then waits for a wider level leaves
// later. So when the wait for the wide level gets shorter, calls of one narrow key may
// leave closer together than the narrow limit admits, though never faster than the wide
// limit admits. If the narrow limit must never be exceeded, give the wide one room.
//
// The Hook of the first level's Limiter observes the returned decision, and a wait with its
// beginning. These two have the Scope and Key of the first level. An EventWait's Decision
// names the binding level, or after an error the level that the call waited for.
func WaitLevels(ctx context.Context, maxWait time.Duration, levels ...Level) (*Reservation, Decision, error) {
	if maxWait < 0 {
		return nil, Decision{}, &store.ConfigError{Field: "maxWait", Want: "0 or more", Got: maxWait.String()}
	}
	if err := checkLevels(ctx, levels); err != nil {
		return nil, Decision{}, err
	}
	w := levelWait{levels: levels, bound: newBound(ctx, maxWait)}
	r, d, err := reserveLevels(ctx, levels)
	if err != nil {
		return nil, decisionOf(&d), err
	}
	if maxWait > 0 && !d.Allowed && !line.InBackground(ctx) && isShort(&d) && !time.Now().Add(d.RetryAfter).After(w.end) {
		r, d, err = w.wait(ctx, d)
	}
	if err == nil {
		observeLevels(ctx, levels, &d)
	}
	if w.waits {
		w.observe(ctx, d, err)
	}
	return r, decisionOf(&d), err
}

// isShort reports whether a refused call can wait for units.
func isShort(d *store.Decision) bool {
	return d.Reason == store.ReasonLimited || d.Reason == store.ReasonPaused
}

// levelWait is a call that waits for one level after the other.
type levelWait struct {
	bound
	levels []Level
	parts  []*Reservation // of the levels before
	at     int            // the level that it waits for
	last   store.Decision // the last on that level, or on all of them
	full   bool           // refused by the level's MaxWaiters
}

// wait waits for one level after the other. If one refuses, it decides on all of them
// once more.
func (w *levelWait) wait(ctx context.Context, first store.Decision) (r *Reservation, d store.Decision, err error) {
	book := func(i int) error {
		w.at, w.last = i, first
		return w.book(ctx, &w.levels[i])
	}
	giveBack := func(i int) <-chan struct{} {
		part := w.parts[i]
		return part.limiter.lines.HandBack(ctx, part.id, part.decision.Receipt)
	}
	switch err = line.InOrder(ctx, len(w.levels), book, giveBack, isRefusal); {
	case err == nil:
		d = mergeLevels(w.levels, w.parts)
		return &Reservation{limiter: w.levels[0].Limiter, id: w.levels[0].id(), decision: d, at: time.Now(), parts: w.parts}, d, nil
	case !isRefusal(err):
		return nil, store.Decision{}, err
	}
	if d = first; w.waits {
		r, d, err = reserveLevels(ctx, w.levels)
	} else {
		err = nil // Too many calls wait, and the decision is fresh.
	}
	if w.full && err == nil && isShort(&d) {
		w.refuseFull(&d)
	}
	return r, d, err
}

// book books a slot of a level and waits for it. It does not wait for a level that
// it only looks at.
func (w *levelWait) book(ctx context.Context, v *Level) (err error) {
	l := v.Limiter
	id := l.lineOf(v.Key, v.cost(), v.limits())
	c := waitingCall{bound: newBound(ctx, max(time.Until(w.end), 1)), limiter: l, id: id, limits: v.limits(), silent: true, d: w.last}
	var g grant
	if v.Peek {
		w.begin(ctx, v)
		_, err = c.ask(ctx)
		g = c.grant()
	} else {
		call, ok := l.lines.Enter(id, w.start)
		if !ok {
			w.full = true
			d := l.refuse(store.ReasonTooManyWaiters, 0)
			return l.refusal(id, &d, false, 0)
		}
		w.begin(ctx, v)
		c.Call = call
		g, err = c.wait(ctx)
	}
	w.last = c.d
	if err != nil {
		return err
	}
	if c.at.IsZero() {
		c.at = time.Now()
	}
	c.d.Receipt, c.d.At = g.receipt, g.at // They go with the slot, which may have been another call's.
	w.parts = append(w.parts, &Reservation{limiter: l, id: id, decision: c.d, at: c.at, waited: !v.Peek})
	return nil
}

// begin shows that the wait begins, on its first level.
func (w *levelWait) begin(ctx context.Context, v *Level) {
	if !w.waits {
		v.events(w.levels).decided(ctx, v.id(), &w.last, Event{Kind: EventWaitBegin})
	}
	w.waits = true
}

// refuseFull turns a refusal into one by MaxWaiters of the level.
func (w *levelWait) refuseFull(d *store.Decision) {
	i := 0
	for j := range w.at {
		i += len(w.levels[j].limits())
	}
	c, v := d.Charge(i), &w.levels[w.at]
	d.Reason, d.Scope, d.Limit = store.ReasonTooManyWaiters, v.Limiter.name, store.Limit(v.limits()[0])
	d.Remaining, d.ResetAfter = c.Remaining, c.ResetAfter
}

// observe shows the hook the end of the wait, in the name of its beginning.
func (w *levelWait) observe(ctx context.Context, d store.Decision, err error) {
	switch {
	case err != nil:
		d = w.last
	case !d.Allowed:
		at := bindingLevel(w.levels, &d)
		err = at.Limiter.refusal(at.id(), &d, w.byDeadline, w.maxWait)
	}
	w.levels[0].events(w.levels).decided(ctx, w.levels[0].id(), &d, Event{Kind: EventWait, Took: time.Since(w.start), Err: err})
}

// mergeLevels returns the decision on all levels, each booked by itself, as of the
// instant at which the last slot came.
func mergeLevels(levels []Level, parts []*Reservation) store.Decision {
	d := store.Decision{Allowed: true}
	binds := false
	for i, part := range parts {
		since, limits := time.Since(part.at), levels[i].limits()
		d.Degraded, d.At = d.Degraded || part.decision.Degraded, part.decision.At
		d.Source = max(d.Source, part.decision.Source)
		for j := range limits {
			c := part.decision.Charge(j)
			limit := store.Limit(limits[j])
			c.ResetAfter = max(0, c.ResetAfter-since)
			d.Charges = append(d.Charges, c)
			if !binds || product.Compare(c.Remaining, d.Limit.Max(), d.Remaining, limit.Max()) < 0 {
				binds = true
				d.Scope, d.Limit, d.Remaining, d.ResetAfter = levels[i].Limiter.name, limit, c.Remaining, c.ResetAfter
			}
		}
	}
	if len(d.Charges) == 1 {
		d.Charges = nil
	}
	return d
}
