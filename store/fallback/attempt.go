package fallback

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback/internal/patience"
)

// maxPatience is the maximum time that a waiting call gives the primary. All calls give
// it to the primary's first answer: connecting may take several round trips.
const maxPatience = time.Second

// attempt is a call of the primary. It may outlast its caller, which then reuses the
// request's charges, so the attempt has a copy.
type attempt struct {
	store *Store
	req   store.Request
	room  [1]store.Charge // for one charge, as seen is
	seen  [1]store.Seen
	began time.Time
	end   *patience.End
	ctx   patience.Context
	d     store.Decision
	err   error

	// These belong to besides.
	done   chan struct{} // gets a value with an answer in time
	over   atomic.Bool   // the answer is there, or the caller has left
	cancel context.CancelFunc
}

// attempts keeps unused attempts.
var attempts = sync.Pool{New: func() any { return new(attempt) }}

func (s *Store) attempt(req *store.Request) *attempt {
	a, now := attempts.Get().(*attempt), s.clock.read()
	a.store, a.req, a.began, a.end = s, *req, now, s.end(now, req.MaxWait)
	a.req.Charges = append(a.room[:0], req.Charges...)
	a.req.Seen = append(a.seen[:0], make([]store.Seen, len(req.Charges))...)
	return a
}

// free keeps an attempt that has ended for another call.
func (a *attempt) free() {
	if a.done == nil { // Otherwise its goroutine may be using it.
		*a = attempt{}
		attempts.Put(a)
	}
}

// end returns the end of the patience of a call that starts now.
func (s *Store) end(now time.Time, maxWait time.Duration) *patience.End {
	usual := s.cfg.patience()
	own := max(usual, min(maxWait/10, maxPatience))
	if !s.breaker.Met() {
		own = max(own, maxPatience)
	}
	if own == usual {
		return s.ends.Next(now, usual)
	}
	return patience.New(now, own)
}

// start asks the primary to decide in the background. It returns nil if the primary can't
// do so, or lacks a state of the keys.
func (a *attempt) start(ctx context.Context) (st store.Started) {
	s := a.store
	if s.starter == nil || a.req.Cancelable || a.req.Hold.Asked() || s.recall(&a.req, a.began) {
		return nil
	}
	defer func() {
		if recover() != nil {
			st = nil // Take may do better, or shows the panic.
		}
	}()
	a.ctx = a.end.Context(ctx, 2*s.cfg.Budget)
	return s.starter.Start(&a.ctx, s.cfg.Primary, &a.req)
}

// besides asks the primary on a goroutine of its own: a client may heed neither its context
// nor a budget. The client's context ends with the patience, so the client sends nothing late.
func (a *attempt) besides(ctx context.Context) store.Started {
	a.done = make(chan struct{}, 1)
	ctx, a.cancel = context.WithTimeout(context.WithoutCancel(ctx), time.Until(a.end.At)+a.store.cfg.Budget)
	go func() {
		defer a.cancel()
		if a.d, a.err = a.store.ask(ctx, &a.req); a.overtakes() {
			a.giveBack(ctx)
			a.d, a.err = a.store.ask(ctx, &a.req)
		}
		if a.over.CompareAndSwap(false, true) {
			a.done <- struct{}{}
		} else if a.err == nil {
			a.giveBack(ctx)
		}
	}()
	return a
}

// overtakes reports whether a call's slot comes before that of an earlier call, which was
// decided here while the primary was silent. Asked again, the primary learns of that slot.
func (a *attempt) overtakes() bool {
	_, ahead := a.store.memory.Recall(a.req.Charges, append(make([]store.Seen, 0, 1), a.req.Seen...), 0)
	return a.err == nil && a.d.Receipt != nil && ahead >= a.store.clock.now()+a.d.Delay.Microseconds()
}

// Done implements [store.Started] for besides, like the methods below.
func (a *attempt) Done() <-chan struct{} { return a.done }

func (a *attempt) Decision() (d store.Decision, done bool, err error) { return a.d, true, a.err }

func (a *attempt) Leave() bool {
	left := a.over.CompareAndSwap(false, true)
	if left {
		a.cancel()
	}
	return left
}

// report passes the outcome to the breaker and the memory.
func (a *attempt) report() {
	s := a.store
	if a.err != nil && outage(a.err) != nil {
		a.fail(a.err)
		return
	}
	s.breaker.Succeed()
	switch {
	case a.err == nil:
		if at := a.req.Seen[0].At; at > 0 {
			s.clock.heard(int64(at), a.began)
		}
		if a.done == nil { // Otherwise ask has learnt it.
			s.memory.Learn(a.req.Charges, a.req.Seen)
		}
		s.heed(a.req.Charges, &a.d)
		if s.brakes.Some() {
			go s.deliver()
		}
	case errors.Is(a.err, store.ErrLost):
		s.lost(&a.req)
	}
}

// fail notes a failure. The next probe looks at the keys of the call.
func (a *attempt) fail(err error) {
	look := slices.Clone(a.req.Charges)
	for i := range look {
		look[i].Cost = 0
	}
	a.store.failed.Store(&look)
	a.store.breaker.Fail(a.began, err)
}

// giveBack gives a grant without a caller back, if the primary can do so.
func (a *attempt) giveBack(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	if h, ok := a.store.cfg.Primary.(store.Holder); ok && a.d.Allowed && a.req.Hold.Asked() {
		c, id := a.req.Charges[0], a.req.Hold.ID
		_ = a.store.within(ctx, func(ctx context.Context) error { return h.Release(ctx, c.Scope, c.Key, id) })
	}
	if c, ok := a.store.cfg.Primary.(store.Canceler); ok && a.d.Receipt != nil {
		of := a.d.Receipt
		_ = a.store.within(ctx, func(ctx context.Context) error { return c.Cancel(ctx, of) })
	}
}
