package leasestore

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/goweir/weir/store"
)

// refill is a call that takes n units for a lease, cost of them for itself.
type refill struct {
	lease *lease
	turn  int // the lease's
	plan
	cost  int64
	rest  int64         // units that lie here and are not enough, but count
	was   time.Duration // when these were taken
	ahead bool          // n was more than cost: others wait
	back  unused        // what was left before, if there is some
	some  bool
	since time.Duration
	deep  time.Duration // when there are such units as the plan leaves, if that was told
	d     store.Decision
}

// begin has a call take as many units as are wanted. Only one that takes some
// ahead is waited for. The shard is locked.
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

// refill takes units for a lease, one of them for this call. When so many are
// refused, the call is decided by itself, and so are those after it for a while:
// close to a limit each unit is somebody's. When they would only not lapse in
// time, others are taken that can be given back. A store that takes nothing back,
// as a redisstore without scripts, is asked for each call.
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
	select { // What is given back may be what it lacked.
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

// own is the decision of the call itself: what it took ahead is still there.
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

// refilled ends a refill. Without a grant, the calls of the next while are
// decided by themselves.
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

// ask is the request for what n units need that do not lie here.
func (r *refill) ask(req *store.Request, n, leave int64) store.Request {
	a := *req
	a.Charges = append([]store.Charge(nil), req.Charges...)
	for i := range a.Charges {
		a.Charges[i].Cost, a.Charges[i].Reserve = n-r.rest, leave
	}
	return a
}
