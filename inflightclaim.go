package weir

import (
	"context"
	"errors"
	"time"

	"github.com/goweir/weir/store"
)

// ask has the store decide on units and a lease together, and waits until it has
// a lease. What it returns is the decision, and what a refusal would have passed.
// start is when the call began, and maxWait what it may wait from then on.
func (c *claim) ask(ctx context.Context, l *Limiter, id queueID, start time.Time, maxWait time.Duration) (store.Decision, Bound, error) {
	fs := l.flights
	var late <-chan time.Time // when maxWait is over
	fs.mu.Lock()
	f := fs.flight(id.key)
	ok := f.join(c)
	retryAfter := f.retryAfter()
	fs.mu.Unlock()
	if !ok {
		return l.full(ctx, id, retryAfter), BoundNone, nil
	}
	for {
		if c.turn != nil {
			if late == nil && maxWait > 0 {
				timer := time.NewTimer(time.Until(start.Add(maxWait)))
				defer timer.Stop()
				late = timer.C
			}
			select {
			case <-c.turn:
			case <-ctx.Done():
				fs.leave(f, c)
				return store.Decision{}, BoundNone, ctx.Err()
			case <-late:
				return l.full(ctx, id, fs.leave(f, c)), BoundMaxWait, nil
			}
		}
		d, bound, late, err := c.try(ctx, f, id, start, maxWait)
		if late {
			linger(l.handBack(ctx, id, d.Receipt))
			continue
		}
		if err != nil || d.Reason != InFlight || c.refuse {
			if err == nil {
				l.observeDecision(ctx, id, &d)
			}
			return d, bound, err
		}
	}
}

// leave takes a call out of the line. It returns how long to wait for room.
func (fs *flights) leave(f *flight, c *claim) time.Duration {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if c.place == nil {
		f.asking-- // It was its turn just now.
	} else {
		f.line.Remove(c.place)
	}
	retryAfter := f.retryAfter()
	f.advance()
	return retryAfter
}

// try asks the store once. What it says is late when the lease may end before its
// first renewal, as this process was stopped for a while, perhaps: then the call,
// whose turn it still is, asks anew. A store that always takes as long is asked no
// third time.
func (c *claim) try(ctx context.Context, f *flight, id queueID, start time.Time, maxWait time.Duration) (d store.Decision, bound Bound, late bool, err error) {
	l, fs := f.of.limiter, f.of
	lease := &Lease{flight: f, id: newLeaseID()}
	// A panic of the store's leaves no more behind than an error does.
	err = errPanicked
	asked := time.Now()
	defer func() {
		fs.mu.Lock()
		defer fs.mu.Unlock()
		if late = err == nil && d.Allowed && !c.late && time.Since(asked) >= fs.lease/2; late {
			c.late = true
			f.add(lease)
			f.release(lease)
			return
		}
		f.asking--
		switch {
		case err != nil && !errors.Is(err, ErrConfig) && !errors.Is(err, ErrUnsupported):
			// It may have been granted all the same.
			f.add(lease)
			f.release(lease)
		case d.Allowed:
			f.add(lease)
			c.lease = lease
			f.rest = firstRest
			if f.width < f.of.most {
				f.width *= 2
			}
		case d.Reason == InFlight:
			f.refused(c, d.RetryAfter)
		}
		f.advance()
	}()
	longest := time.Duration(0)
	behind := inBackground(ctx)
	if !c.refuse && !behind {
		now := time.Now()
		if maxWait > 0 {
			maxWait = max(maxWait-now.Sub(start), 1)
		}
		longest, bound = longestWait(ctx, now, maxWait)
	}
	call := l.charge(id.key, id.cost, l.cfg.Limits, behind)
	d, err = l.cfg.Store.Take(ctx, store.Request{
		Charges: call.charges, MaxWait: longest, Cancelable: !c.refuse || c.keep, Checked: true,
		Hold: store.Hold{Max: fs.most, ID: lease.id, Lease: fs.lease},
	})
	l.done(call)
	return d, bound, false, l.storeError(ctx, "take", id.key, id.cost, err)
}

var errPanicked = errors.New("weir: the store panicked")

// full is the decision on a call that is refused without asking the store.
func (l *Limiter) full(ctx context.Context, id queueID, retryAfter time.Duration) store.Decision {
	d := store.Decision{Reason: InFlight, Limit: store.Limit(l.cfg.Limits[0]), Scope: l.cfg.Name, RetryAfter: retryAfter}
	l.observeDecision(ctx, id, &d)
	return d
}
