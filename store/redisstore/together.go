package redisstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/goweir/weir/internal/deadline"
	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/combine"
	"github.com/goweir/weir/store/redisstore/internal/deny"
	"github.com/goweir/weir/store/redisstore/internal/script"
)

// call is a request for units of one key, now or not at all, and its answer.
type call struct {
	limits *script.Limits
	seen   int64   // see script.Key
	answer *answer // nil before the round trip
	place  int64   // among the calls decided together
	err    error
}

// answer is the script's answer to calls of one key under the same limits, which the script
// decides in order. It does not change.
type answer struct {
	script.Answer
	now         int64
	seen        int64         // the earliest of the calls, see script.Calls
	sent, heard time.Duration // by the clock of the store
	states      [1]script.State
}

// combines reports whether a request shares round trips: it takes units of one key, now or
// not at all, without a receipt.
func combines(req *store.Request) bool {
	return req.MaxWait == 0 && !req.Cancelable && !req.Hold.Asked() && req.Restore == nil && !req.Free() && sameKey(req.Charges) && req.NeverFits() < 0
}

type place = deny.Place[*script.Limits, *answer]

// question identifies a request that combines.
type question struct {
	state  string
	limits *script.Limits
	place  *place
	turn   uint64
}

func (s *Store) question(req *store.Request) question {
	c := &req.Charges[0]
	q := question{limits: s.limits.of(req.Charges), place: s.denials.Place(c.Scope, c.Key)}
	q.turn = q.place.Turn()
	return q
}

// takeTogether decides a request that combines.
func (s *Store) takeTogether(ctx context.Context, req *store.Request) (store.Decision, error) {
	q := s.question(req)
	if d, ok := s.denied(&q, req); ok {
		for i := range req.Seen {
			req.Seen[i].At = 0
		}
		return d, nil
	}
	if err := ctx.Err(); err != nil {
		return store.Decision{}, err
	}
	c := &req.Charges[0]
	q.state = rediskey.State(s.prefix, c.Scope, c.Key)
	done, _, err := s.queues.of(ctx, q.state).Do(ctx, q.state, call{limits: q.limits, seen: seen(req, 0)})
	if err == nil {
		err = done.err
	}
	var split *splitError
	if errors.As(err, &split) {
		return s.takeAlone(ctx, req) // Nothing was decided. takeAlone tries a few times.
	}
	if err != nil {
		if ended := deadline.Ended(ctx); ended != nil {
			err = ended
		}
		return store.Decision{}, err
	}
	return s.conclude(ctx, req, &q, &done)
}

// lost reports whether the call's state was lost for sure: no other call saw it earlier.
func (c *call) lost() bool { return c.answer.Lost() && c.seen > 0 && c.seen <= c.answer.seen }

// conclude returns the decision of a call that was decided.
func (s *Store) conclude(ctx context.Context, req *store.Request, q *question, done *call) (store.Decision, error) {
	a, c := done.answer, &req.Charges[0]
	if done.lost() {
		return store.Decision{}, store.ErrLost
	}
	if a.Calls < 0 {
		return s.takeAlone(ctx, req) // Perhaps only some of the calls have lost their state.
	}
	for i := range req.Seen {
		a.See(q.limits, i, a.now, &req.Seen[i])
	}
	if done.place < a.Calls {
		q.place.Forget()
	} else {
		q.place.Changed(c.Scope, c.Key, q.limits)
		if a.Plain {
			s.denials.Put(q.place, q.turn, c.Scope, c.Key, q.limits, a, a.sent, a.sent+time.Duration(a.Real-a.now)*time.Microsecond)
		}
	}
	return done.decision(req, a.now), nil
}

// decision returns the caller's decision.
func (c *call) decision(req *store.Request, now int64) store.Decision {
	var room [4]exact.Outcome
	outcomes := append(room[:0], make([]exact.Outcome, len(req.Charges))...)
	v := exact.Verdict{Allowed: c.place < c.answer.Calls, Now: now, Slot: now}
	a := c.answer.Answer
	later := a.Calls - c.place - 1
	if v.Allowed && later > 0 {
		a.States = c.limits.Before(a.States, later)
	}
	seen := a.View(c.limits, nil, outcomes, 0, now)
	switch {
	case !v.Allowed:
		v.Slot = a.Real
	case a.Clock != nil:
		seen.Slot = a.Clock.Now(now) // The answer has the slot of the first refused call.
	default:
		seen.Slot = now
	}
	v.Keys = []exact.Seen{seen}
	return exact.Decide(req, &v, outcomes)
}

// denied returns a remembered refusal of an equal request.
func (s *Store) denied(q *question, req *store.Request) (d store.Decision, ok bool) {
	clock, c := s.elapsed(), &req.Charges[0]
	a, ok := s.denials.Get(q.place, c.Scope, c.Key, q.limits, clock)
	if !ok || s.closed.Load() {
		return d, false
	}
	// The server's clock is at least this far.
	now := a.now + int64((clock-a.heard)/time.Microsecond)
	d = (&call{limits: q.limits, answer: a, place: a.Calls}).decision(req, now)
	d.Source = store.SourceDenyCache
	return d, true
}

// Denied refuses a valid request without Redis, if an equal request was refused just now.
// It reports false if Redis has to decide. It is for stores around this one, see package
// fallback. Take calls it by itself.
func (s *Store) Denied(of store.Store, req *store.Request) (d store.Decision, ok bool) {
	if of != store.Store(s) || !combines(req) {
		return d, false
	}
	q := s.question(req)
	return s.denied(&q, req)
}

// started is a call begun by Start.
type started struct {
	store    *Store
	pending  combine.Pending[string, call]
	question question
	req      *store.Request
	ctx      context.Context
}

// unused holds started calls for reuse.
var unused = sync.Pool{New: func() any { return new(started) }}

// Start implements [store.Starter], for requests that share round trips.
func (s *Store) Start(ctx context.Context, of store.Store, req *store.Request) store.Started {
	if of != store.Store(s) || !combines(req) {
		return nil
	}
	q := s.question(req)
	c := &req.Charges[0]
	q.state = rediskey.State(s.prefix, c.Scope, c.Key)
	st := unused.Get().(*started)
	*st = started{store: s, question: q, req: req, ctx: ctx}
	st.pending = s.queues.of(ctx, q.state).Start(ctx, q.state, call{limits: q.limits, seen: seen(req, 0)})
	return st
}

// Done implements [store.Started].
func (st *started) Done() <-chan struct{} { return st.pending.Done() }

// Leave implements [store.Started].
func (st *started) Leave() bool {
	left, _ := st.pending.Leave()
	return left
}

// Decision implements [store.Started].
func (st *started) Decision() (d store.Decision, done bool, err error) {
	defer func() {
		*st = started{}
		unused.Put(st)
	}()
	c, err := st.pending.Result()
	if err == nil {
		err = c.err
	}
	var split *splitError
	if errors.As(err, &split) || err == nil && c.answer.Calls < 0 && !c.lost() {
		return d, false, nil
	}
	if err == nil {
		d, err = st.store.conclude(st.ctx, st.req, &st.question, &c)
	}
	return d, true, err
}
