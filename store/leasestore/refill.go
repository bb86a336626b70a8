package leasestore

import (
	"context"
	"slices"
	"time"

	"github.com/goweir/weir"
)

// refill takes units for a lease, one of them for this call. When so many are
// refused, the call is decided by itself, and so are those after it for a while:
// close to a limit each unit is somebody's.
func (s *Store) refill(ctx context.Context, sh *shard, l *lease, req *weir.Request) (weir.Decision, error) {
	cost := req.Charges[0].Cost
	sh.mu.Lock()
	old, some := l.end()
	n := l.want(cost, s.cfg.Units, s.now(), s.cfg.For)
	sh.mu.Unlock()
	r := refill{n: n, cost: cost}
	defer func() { s.refilled(sh, l, &r) }()
	if some {
		s.giving.Go(func() { _ = s.giveBack(old) })
	}
	if n > cost {
		s.heed()
		err := r.take(ctx, s, ahead(req, n))
		if err != nil || r.d.Allowed {
			return r.own(), err
		}
		r.n = cost
	}
	err := r.take(ctx, s, *req)
	if n > cost {
		r.n = 0 // Close to the limit nothing is taken ahead.
	}
	return r.d, err
}

// refill is a call that takes n units, cost of them for itself.
type refill struct {
	n, cost int64
	since   time.Duration
	d       weir.Decision
}

func (r *refill) take(ctx context.Context, s *Store, req weir.Request) (err error) {
	r.since = s.now()
	r.d, err = s.cfg.Store.Take(ctx, req)
	return err
}

// own is the decision of the call itself: what it took ahead is still there.
func (r *refill) own() weir.Decision {
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

// refilled ends a refill. Without a grant, the calls of the next while are
// decided by themselves.
func (s *Store) refilled(sh *shard, l *lease, r *refill) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	close(l.taking)
	l.taking = nil
	if !r.d.Allowed || r.n == 0 {
		l.size, l.alone = 0, s.now()+s.cfg.For
		if r.d.RetryAfter > 0 && r.d.RetryAfter < s.cfg.For {
			l.alone = r.since + r.d.RetryAfter
		}
		return
	}
	l.granted(r, s.cfg.For)
	switch {
	case l.left == 0:
	case sh.closed:
		u, _ := l.end()
		s.giving.Go(func() { _ = s.giveBack(u) })
	default:
		s.arm(sh, l)
	}
}

// ahead is a request for n units that can be given back.
func ahead(req *weir.Request, n int64) weir.Request {
	a := *req
	a.Charges = append([]weir.Charge(nil), req.Charges...)
	for i := range a.Charges {
		a.Charges[i].Cost = n
	}
	a.Cancelable = true
	return a
}
