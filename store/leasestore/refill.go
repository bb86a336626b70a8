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
	rest  int64         // unused lapsing units, which count towards cost
	was   time.Duration // when these were taken
	ahead bool          // n > cost: other calls wait
	back  unused        // the earlier unused units, if some
	some  bool
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
	r.back, r.some = s.end(l)
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
	var back chan struct{}
	if r.some {
		back = make(chan struct{})
		go func() {
			defer close(back)
			_ = s.giveBack(r.back)
		}()
	}
	if r.ahead {
		s.heed()
		all := r.ask(req, r.n, r.leave)
		all.Cancelable = r.leave == 0
		err := r.take(ctx, s, all)
		if r.d.Allowed || err != nil && !errors.Is(err, store.ErrUnsupported) {
			return r.own(), err
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
	if err == nil && !r.d.Allowed {
		r.d.Remaining += r.rest
	}
	if back == nil || err != nil || r.d.Reason != store.ReasonLimited {
		return r.d, err
	}
	select { // The returned units may be enough.
	case <-back:
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

// own returns the decision of the call itself: units taken ahead still remain.
func (r *refill) own() store.Decision {
	d := r.d
	if !d.Allowed {
		return d
	}
	d.Receipt = nil
	d.Remaining += r.n - r.cost
	d.Charges = slices.Clone(d.Charges)
	for i := range d.Charges {
		d.Charges[i].Remaining += r.n - r.cost
	}
	return d
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
		s.giving.Add(1)
		go func() { _ = s.giveBack(unused{r.d.Receipt, r.cost - r.rest}) }()
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

// ask returns the request for n units, less the unused ones.
func (r *refill) ask(req *store.Request, n, leave int64) store.Request {
	a := *req
	a.Charges = append([]store.Charge(nil), req.Charges...)
	for i := range a.Charges {
		a.Charges[i].Cost, a.Charges[i].Reserve = n-r.rest, leave
	}
	return a
}
