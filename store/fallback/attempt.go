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
	owes  bool // the primary lacks a state of these keys
	began time.Time
	end   *patience.End
	ctx   patience.Context
	d     store.Decision
	err   error

	// These belong to aside.
	done   chan struct{} // gets a value with an answer in time
	over   atomic.Bool   // the answer is there, or the caller has left
	cancel context.CancelFunc
}

// attempts keeps unused attempts.
var attempts = sync.Pool{New: func() any { return new(attempt) }}

func (s *Store) attempt(req *store.Request) *attempt {
	a, now := attempts.Get().(*attempt), time.Now()
	*a = attempt{store: s, req: *req, began: now, end: s.end(now, req.MaxWait)}
	a.req.Charges = append(a.room[:0], req.Charges...)
	a.req.Seen = append(a.seen[:0], make([]store.Seen, len(req.Charges))...)
	a.recall(now)
	return a
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

func (a *attempt) recall(now time.Time) { a.owes = a.store.recall(&a.req, now) }

func (a *attempt) ask(ctx context.Context) { a.d, _, a.err = a.store.ask(ctx, &a.req, a.owes) }

// report passes the outcome to the breaker and the memory.
func (a *attempt) report() {
	switch s := a.store; {
	case a.err == nil:
		now := time.Now()
		s.breaker.Succeed()
		if at := a.req.Seen[0].At; at > 0 {
			s.clock.heard(int64(at), a.began, now)
		}
		if a.done == nil { // Otherwise ask has learnt it.
			s.memory.Learn(a.req.Charges, a.req.Seen, s.clock.at(now))
		}
		s.heed(a.req.Charges, &a.d)
		if s.brakes.Some() {
			go s.deliver()
		}
	case outage(a.err) != nil:
		a.fail(a.err)
	default:
		s.breaker.Succeed()
		if errors.Is(a.err, store.ErrLost) {
			s.lost(a.req.Charges, a.req.Seen)
		}
	}
}

// fail notes a failure. The next probe looks at the keys of the call, at no cost.
func (a *attempt) fail(err error) {
	look := &store.Request{Charges: slices.Clone(a.req.Charges)}
	for i := range look.Charges {
		look.Charges[i].Cost = 0
	}
	a.store.failed.Store(look)
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
