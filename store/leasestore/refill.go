package leasestore

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/goweir/weir/store"
)

// refill is a call that takes n units for a lease: cost for itself, the rest ahead.
type refill struct {
	lease *lease
	turn  int // the lease's
	plan
	cost  int64
	rest  int64           // unused lapsing units, which count towards cost
	was   time.Duration   // when these were taken
	ahead bool            // n > cost: other calls wait
	back  <-chan struct{} // closed when the earlier unused units are given back; nil: none
	since time.Duration
	deep  time.Duration // when lapsing units may be taken again, if the refusal says so
	d     store.Decision
}

// begin starts a call that takes the planned units. Other calls wait only for a call that
// takes units ahead. The caller holds the shard's lock.
func (s *Store) begin(l *lease, cost int64, now time.Duration) *refill {
	r := &refill{lease: l, cost: cost}
	if l.lapse(now); l.d.Receipt == nil {
		r.rest, r.was = l.left, l.since
	}
	r.back = s.giveBack(l.take())
	r.plan = l.plan(cost, s.cfg.Units, now, s.cfg.For)
	if r.ahead = r.n > cost; r.ahead {
		l.taking = make(chan struct{})
		l.turn++
		s.giving.Add(1)
	}
	r.turn = l.turn
	return r
}

// refill takes units for a lease, one of them for this call. If the store behind refuses
// units ahead, it decides this call alone. The next calls depend on the refusal:
//
//	refused                     the next calls
//	lapsing units, by a limit   take units with a receipt for a while
//	other units                 are decided alone for a while: few are left
//	ErrUnsupported              likewise: the store takes nothing back
func (s *Store) refill(ctx context.Context, sh *shard, r *refill, req *store.Request) (store.Decision, error) {
	defer s.refilled(sh, r)
	if r.ahead {
		s.heed()
		all := r.ask(req, r.n, r.leave)
		all.Cancelable = r.leave == 0
		err := r.take(ctx, s, all)
		if r.d.Allowed || err != nil && !errors.Is(err, store.ErrUnsupported) {
			d := r.d
			if d.Allowed { // The units taken ahead still remain.
				age(&d, r.n-r.cost, 0)
			}
			return d, err
		}
		if r.n = 0; r.leave > 0 && r.d.Reason == store.ReasonLimited {
			r.n, r.deep = r.cost, r.since+max(r.d.RetryAfter, s.cfg.For/2)
		}
	}
	single := *req
	if r.rest > 0 {
		single = r.ask(req, r.cost, 0)
	}
	err := r.take(ctx, s, single)
	if err == nil && !r.d.Allowed && r.rest > 0 { // They may lapse before the call comes again.
		err = r.take(ctx, s, *req)
		r.d.Remaining = min(r.d.Remaining+r.rest, req.Charges[0].Limit.Max())
	}
	if r.back == nil || err != nil || r.d.Reason != store.ReasonLimited {
		return r.d, err
	}
	select { // The returned units may be enough.
	case <-r.back:
		err = r.take(ctx, s, single)
	case <-ctx.Done():
	}
	return r.d, err
}

func (r *refill) take(ctx context.Context, s *Store, req store.Request) (err error) {
	r.since = s.now()
	r.d, err = s.cfg.Store.Take(ctx, req)
	return err
}

// refilled ends a refill. Without a grant, calls are decided alone for a while.
func (s *Store) refilled(sh *shard, r *refill) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	l, kept := r.lease, r.lease.turn == r.turn && !sh.closed
	if r.ahead {
		close(l.taking)
		l.taking = nil
		defer s.giving.Done()
	}
	switch {
	case !kept && r.d.Allowed && r.n > r.cost && r.d.Receipt != nil:
		s.giveBack(unused{r.d.Receipt, r.cost - r.rest})
	case !kept:
	case !r.d.Allowed || r.n == 0:
		if !r.d.Allowed && l.since == r.was {
			l.left = r.rest
		}
		l.size, l.alone = 0, s.now()+s.cfg.For
		if r.d.RetryAfter > 0 && r.d.RetryAfter < s.cfg.For {
			l.alone = r.since + r.d.RetryAfter
		}
	default:
		l.deep = max(l.deep, r.deep)
		if l.granted(r, s.cfg.For); l.left > 0 && l.d.Receipt != nil {
			s.arm(sh, l)
		}
	}
}

// granted keeps the units that a call took.
func (l *lease) granted(r *refill, period time.Duration) {
	l.d, l.took, l.left, l.since, l.late = r.d, r.n-r.rest, r.n-r.cost, r.since, false
	l.d.OtherLimits = false // Other limits may end before the lease.
	if l.size = 0; r.n > r.cost {
		l.size = r.n
	}
	l.until = l.since + period
	l.of, l.plain = nil, store.Outcome{Remaining: r.d.Remaining, ResetAfter: r.d.ResetAfter, At: r.d.At}
	for i := range l.limits {
		l.until = min(l.until, l.since+windowEnd(&l.limits[i], l.d.Charge(i).ResetAfter))
	}
}

// windowEnd returns the time left of the window that holds a unit taken just now.
func windowEnd(limit *store.Limit, reset time.Duration) time.Duration {
	switch limit.Algorithm {
	case store.FixedWindow, store.AlignedWindow:
		return reset
	case store.SlidingCounter:
		return max(reset-limit.Period, 0)
	}
	return longest
}

// ask returns the request for n units, less the unused ones.
func (r *refill) ask(req *store.Request, n, leave int64) store.Request {
	a := *req
	a.Charges = slices.Clone(req.Charges)
	for i := range a.Charges {
		a.Charges[i].Cost, a.Charges[i].Reserve = n-r.rest, leave
	}
	return a
}
