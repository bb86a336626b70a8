package weir

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/store"
)

// Lease is a call's place among those in flight. It is kept up until Release,
// however long the call takes, and comes from [Limiter.Acquire] alone. It is safe
// for concurrent use.
type Lease struct {
	flight *flight // nil without Config.InFlight
	id     string
	done   atomic.Bool
}

// noLease is that of every call of a limiter without Config.InFlight.
var noLease Lease

// Acquire waits until one unit of key may be used and one more call may be in
// flight, and takes both at the same time. The call is in flight until the
// lease is released, so release it in every case:
//
//	lease, err := limiter.Acquire(ctx, key)
//	if err != nil {
//		return err
//	}
//	defer lease.Release()
//
// Calls of one process for the same key are let in in the order in which they
// came. While as many of its own are in flight as may be, they wait without
// asking the store; while others' are, only the first asks, several times a
// second. A lease is released when the process dies and its time is over.
//
// It fails as [Limiter.Wait] does, and holds nothing then; with a
// *[LimitedError] whose Reason is InFlight when MaxWait is over before there is
// room. Without Config.InFlight it is Wait, and releasing does nothing.
func (l *Limiter) Acquire(ctx context.Context, key string) (*Lease, error) {
	return l.AcquireN(ctx, key, 1)
}

// AcquireN is Acquire for a cost. A cost of 0 takes a lease alone.
func (l *Limiter) AcquireN(ctx context.Context, key string, cost int64) (*Lease, error) {
	return l.acquire(ctx, key, cost, l.cfg.MaxWait)
}

// TryAcquire is Acquire for a call that does not wait: a *[LimitedError] says
// why it may not be made now. It does not overtake those that wait.
func (l *Limiter) TryAcquire(ctx context.Context, key string) (*Lease, error) {
	return l.TryAcquireN(ctx, key, 1)
}

// TryAcquireN is TryAcquire for a cost.
func (l *Limiter) TryAcquireN(ctx context.Context, key string, cost int64) (*Lease, error) {
	_, lease, err := l.tryAcquireSlot(ctx, key, cost, false)
	return lease, err
}

// tryAcquireSlot is TryAcquireN, and returns what was granted, too: with a
// receipt when it has to be cancelable.
func (l *Limiter) tryAcquireSlot(ctx context.Context, key string, cost int64, cancelable bool) (g grant, lease *Lease, err error) {
	var d store.Decision
	lease = &noLease
	if l.flights == nil {
		d, err = l.take(ctx, key, cost, l.cfg.Limits, 0, cancelable)
	} else if err = l.check(ctx, key, cost); err == nil {
		c := &claim{refuse: true, keep: cancelable}
		d, _, err = c.ask(ctx, l, queueID{key, cost}, time.Time{}, 0)
		lease = c.lease
	}
	switch {
	case err != nil:
		return grant{}, nil, err
	case !d.Allowed:
		return grant{}, nil, l.limited(key, d, BoundNone)
	}
	return grantOf(&d), lease, nil
}

// acquire is AcquireN with a longest wait of its own; 0: bounded by ctx alone.
func (l *Limiter) acquire(ctx context.Context, key string, cost int64, maxWait time.Duration) (*Lease, error) {
	switch ok, err := l.slotNow(ctx, key, cost, nil); {
	case err != nil:
		return nil, err
	case ok:
		return &noLease, nil
	}
	_, lease, err := l.acquireSlot(ctx, key, cost, maxWait)
	return lease, err
}

// acquireSlot is acquire, and returns the slot that has come, too.
func (l *Limiter) acquireSlot(ctx context.Context, key string, cost int64, maxWait time.Duration) (grant, *Lease, error) {
	if l.flights == nil {
		g, err := l.waitSlot(ctx, key, cost, maxWait, nil)
		if err != nil {
			return grant{}, nil, err
		}
		return g, &noLease, nil
	}
	c := new(claim)
	admitted := false
	defer func() {
		if !admitted {
			c.lease.Release()
		}
	}()
	g, err := l.waitSlot(ctx, key, cost, maxWait, c)
	if err != nil {
		return grant{}, nil, err
	}
	admitted = true
	return g, c.lease, nil
}

// Release ends the lease: the call is not in flight any more. The first call
// acts, later ones do nothing. It does not wait: the store is told in the
// background, of all that were released meanwhile in one call. Where that fails
// it is tried again, until the lease has ended by itself.
func (l *Lease) Release() {
	if l == nil || l.flight == nil || l.done.Swap(true) {
		return
	}
	f := l.flight
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	f.release(l)
}

// returned is a lease on its way back to the store.
type returned struct {
	id    string
	since time.Time
	again bool // it was tried already, and is not counted any more
}

// mostBack bounds what is kept of leases that a store does not take back. They
// end by themselves.
const mostBack = 1 << 14

// release has a lease given back, unless it is lost. The lock is held.
func (f *flight) release(l *Lease) {
	if f.held[l.id] != l {
		return
	}
	l.done.Store(true)
	delete(f.held, l.id)
	f.of.held--
	f.back = append(f.back, returned{id: l.id, since: time.Now()})
	f.send()
	f.of.beat()
}

// send has what is to be released sent, by one goroutine at a time.
func (f *flight) send() {
	if !f.sending && len(f.back) > 0 {
		f.sending = true
		go f.sendAll()
	}
}

func (f *flight) sendAll() {
	fs := f.of
	for {
		fs.mu.Lock()
		batch := f.back
		f.back = nil
		fs.mu.Unlock()
		ids := make([]string, len(batch))
		for i := range batch {
			ids[i] = batch[i].id
		}
		err := f.call("release", func(ctx context.Context) error {
			return fs.holder.Release(ctx, fs.limiter.cfg.Name, f.key, ids...)
		})
		fs.mu.Lock()
		if !f.sent(batch, err) {
			f.sending = false
			f.advance()
			fs.beat()
			fs.mu.Unlock()
			return
		}
		f.advance()
		fs.mu.Unlock()
	}
}

// sent notes how releasing a batch went, and reports whether there is more to
// release now. What failed goes with that, or with the next heartbeat.
func (f *flight) sent(batch []returned, err error) (more bool) {
	n := int64(0)
	more = len(f.back) > 0
	for _, r := range batch {
		if r.again {
			f.of.failed--
		} else {
			n++
		}
		if err != nil && time.Since(r.since) < f.of.lease && len(f.back) < mostBack {
			r.again = true
			f.back = append(f.back, r)
			f.of.failed++
		}
	}
	f.count -= n
	f.rest = firstRest
	f.width = max(f.width, n)
	f.wake()
	return more
}

// call calls the store for nobody in particular, and returns its error. A panic
// is one too: on this goroutine it would end the program.
func (f *flight) call(op string, do func(ctx context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), min(giveBackTimeout, f.of.lease/3))
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
		err = f.of.limiter.storeError(context.Background(), op, f.key, 0, err)
	}()
	return do(ctx)
}
