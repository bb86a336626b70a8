package redisstore

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/internal/deadline"
	"github.com/goweir/weir/internal/keys"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/combine"
	"github.com/goweir/weir/store/redisstore/internal/deny"
	"github.com/goweir/weir/store/redisstore/internal/script"
)

// combines reports whether a request shares round trips: it takes units of one key. One that
// may wait does so while most of the limit is left.
func (s *Store) combines(req *store.Request) bool {
	return s.client != nil && !req.Hold.Asked() && req.Restore == nil && !req.Free() && keys.One(req.Charges) && req.NeverFits() < 0 &&
		(req.MaxWait == 0 || s.free(req).Load())
}

// free tells whether the last call under the request's limits that could wait left most of
// them. Limits may share it, as a wrong guess costs a round trip at most.
func (s *Store) free(req *store.Request) *atomic.Bool {
	return &s.limits.free[s.limits.place(req.Charges)]
}

type place = deny.Place[*script.Limits, *answer]

// question identifies a request that combines.
type question struct {
	limits *script.Limits
	place  *place
	turn   uint64
}

func (s *Store) question(req *store.Request) question {
	c := &req.Charges[0]
	place := s.denials.Place(c.Scope, c.Key)
	return question{s.limits.of(req.Charges), place, place.Turn()}
}

// takeTogether decides a request that combines, now or not at all.
func (s *Store) takeTogether(ctx context.Context, of store.Request) (store.Decision, error) {
	req := &of
	req.MaxWait = 0
	q := s.question(req)
	if d, ok := s.denied(&q, req); ok {
		return d, nil
	}
	key := keys.Of(&req.Charges[0])
	done, _, err := s.queues.of(ctx, key).Do(ctx, key, call{limits: q.limits, cancelable: req.Cancelable, seen: seen(req, 0)})
	d, decided, err := s.conclude(req, &q, &done, err)
	if !decided {
		return s.takeAlone(ctx, req) // It tries a few times.
	}
	if err != nil && err != store.ErrLost {
		err = cmp.Or(deadline.Ended(ctx), err)
	}
	return d, err
}

// conclude returns the decision of a call. decided is false if nothing was decided, and the
// request has to be taken alone.
func (s *Store) conclude(req *store.Request, q *question, done *call, failed error) (d store.Decision, decided bool, err error) {
	a, c := done.answer, &req.Charges[0]
	failed = cmp.Or(failed, done.err)
	switch {
	case isSplit(failed):
		return d, false, nil
	case failed != nil:
		return d, true, failed
	case done.lost():
		return d, true, store.ErrLost
	case a.Calls < 0: // Perhaps only some of the calls have lost their state.
		return d, false, nil
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
	if d = done.decision(req, a.now); d.Allowed && req.Cancelable {
		r := *a.receipt
		r.Places = keys.AppendPlaces(nil, req.Charges, 0)
		d.Receipt = receiptOf(req, []*script.Receipt{&r})
	}
	return d, true, nil
}

// denied returns a remembered refusal of an equal request.
func (s *Store) denied(q *question, req *store.Request) (d store.Decision, ok bool) {
	c := &req.Charges[0]
	a, clock, ok := s.denials.Get(q.place, c.Scope, c.Key, q.limits, s.elapsed)
	if !ok || s.closed.Load() {
		return d, false
	}
	// The server's clock is at least this far.
	now := a.now + max(int64((clock-a.heard)/time.Microsecond), 0) // The answer may have come since the look at the clock.
	d = (&call{limits: q.limits, answer: a, place: a.Calls}).decision(req, now)
	d.Source = store.SourceDenyCache
	clear(req.Seen)
	return d, true
}

// started is a call begun by Start.
type started struct {
	store    *Store
	pending  combine.Pending[keys.Key, call]
	done     <-chan struct{}
	question question
	req      *store.Request
}

// unused holds started calls for reuse.
var unused = sync.Pool{New: func() any { return new(started) }}

// atOnce is the Done of requests that are denied.
var atOnce = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

// Start implements [store.Starter], for requests that share round trips.
func (s *Store) Start(ctx context.Context, of store.Store, req *store.Request) store.Started {
	if of != store.Store(s) || req.MaxWait > 0 || req.Cancelable || !s.combines(req) {
		return nil
	}
	st := unused.Get().(*started)
	*st = started{store: s, question: s.question(req), req: req, done: atOnce}
	if _, ok := s.denied(&st.question, req); !ok {
		key := keys.Of(&req.Charges[0])
		st.pending = s.queues.of(ctx, key).Start(ctx, key, call{limits: st.question.limits, seen: seen(req, 0)})
		st.done = st.pending.Done()
	}
	return st
}

// Done implements [store.Started].
func (st *started) Done() <-chan struct{} { return st.done }

// Leave implements [store.Started].
func (st *started) Leave() bool {
	if st.done == atOnce {
		return false
	}
	left, _ := st.pending.Leave()
	return left
}

// Decision implements [store.Started].
func (st *started) Decision() (d store.Decision, done bool, err error) {
	if st.done == atOnce {
		d, done = st.store.denied(&st.question, st.req) // The refusal may end meanwhile.
	} else {
		c, failed := st.pending.Result()
		d, done, err = st.store.conclude(st.req, &st.question, &c, failed)
	}
	*st = started{}
	unused.Put(st)
	return d, done, err
}
