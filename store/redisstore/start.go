package redisstore

import (
	"context"
	"sync"

	"github.com/goweir/weir/store"
)

// started is a call that a flight decides.
type started struct {
	store    *Store
	combiner *combiner
	waiting  *waiting
	question question
	req      store.Request
	charges  []store.Charge // of req
}

// startedPool keeps those that were told their Decision.
var startedPool = sync.Pool{New: func() any { return new(started) }}

// Start implements [store.Starter], for calls that take of one key, now or not at
// all.
func (s *Store) Start(ctx context.Context, of store.Store, req *store.Request) store.Started {
	if of != store.Store(s) || s.plain != nil || !shared(req) {
		return nil
	}
	q := s.question(req)
	c := &req.Charges[0]
	line, w := s.shared.start(ctx, q.state(s, c), q.lane(), q.terms)
	if w == nil {
		return nil
	}
	st := startedPool.Get().(*started)
	*st = started{store: s, combiner: line, waiting: w, question: q, req: *req, charges: append(st.charges[:0], req.Charges...)}
	st.req.Charges = st.charges
	return st
}

// Done implements [store.Started].
func (st *started) Done() <-chan struct{} { return st.waiting.done }

// Leave implements [store.Started].
func (st *started) Leave() bool { return st.waiting.leave() }

// Decision implements [store.Started].
func (st *started) Decision() (d store.Decision, done bool, err error) {
	a, alone, err := st.combiner.outcome(st.waiting)
	if !alone {
		d, err = st.question.decision(st.store, &st.req, &a, err)
	}
	clear(st.charges)
	*st = started{charges: st.charges}
	startedPool.Put(st)
	return d, !alone, err
}
