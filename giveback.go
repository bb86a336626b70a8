package weir

import (
	"context"
	"fmt"
	"time"

	"github.com/goweir/weir/store"
)

const (
	// giveBackTimeout bounds each call of the store that gives a slot back for
	// a context that is over. When those that failed have taken as long
	// together, what else a queue had to give back is abandoned: its slots go
	// unused, and no limit is exceeded.
	giveBackTimeout = 5 * time.Second
	// giveBackGrace is how long a call whose context has ended stays to see its
	// slot given back. That is time enough for a store that is well, so that a
	// program that ends with its contexts does not cut the give-back off, and
	// too short for a store that is not to hold the caller up.
	giveBackGrace = 20 * time.Millisecond
)

// surplus is a slot on its way back to the store.
type surplus struct {
	ctx     context.Context // of the call that left, for its values
	receipt any
	done    chan struct{}
}

// giveBack has a slot given back, and returns what is closed afterwards; nil
// when there is nothing to do. The shard is locked.
//
// The store is called on a goroutine, one at a time for a queue, so that a
// thousand cancelled calls neither start a thousand goroutines nor spoil each
// other's exact give-back by overtaking.
func (q *queue) giveBack(ctx context.Context, s *slot) <-chan struct{} {
	c, ok := q.limiter.cfg.Store.(store.Canceler)
	if !ok || s.receipt == nil {
		return nil
	}
	done := make(chan struct{})
	q.surplus = append(q.surplus, surplus{ctx, s.receipt, done})
	if !q.giving {
		q.giving = true
		go q.giveAllBack(c)
	}
	return done
}

func (q *queue) giveAllBack(c store.Canceler) {
	var failed time.Duration
	for {
		q.shard.mu.Lock()
		batch := q.surplus
		q.surplus = nil
		if len(batch) == 0 {
			q.giving = false
			q.advance()
			q.shard.mu.Unlock()
			return
		}
		q.shard.mu.Unlock()
		for _, s := range batch {
			start := time.Now()
			if failed < giveBackTimeout && !q.giveOneBack(c, s) {
				failed += time.Since(start)
			}
			close(s.done)
		}
	}
}

// giveOneBack reports whether it succeeded. A failure is an event's to tell.
func (q *queue) giveOneBack(c store.Canceler, s surplus) (ok bool) {
	// On the caller's goroutine a panic is the caller's to handle. On this one
	// it would end the program.
	defer func() {
		if r := recover(); r != nil {
			_ = q.limiter.storeError(context.WithoutCancel(s.ctx), "cancel", q.id.key, q.id.cost, fmt.Errorf("panic: %v", r))
		}
	}()
	return q.limiter.detached(s.ctx, "cancel", q.id.queueID, func(ctx context.Context) error { return c.Cancel(ctx, s.receipt) }) == nil
}

// linger waits until give-backs are done, nil ones aside, but not for long.
func linger(backs ...<-chan struct{}) {
	timer := time.NewTimer(giveBackGrace)
	defer timer.Stop()
	for _, back := range backs {
		if back == nil {
			continue
		}
		select {
		case <-back:
		case <-timer.C:
			return
		}
	}
}

// handBack gives back to the store a slot that has come, for a call that is
// not made after all, and returns what is closed afterwards; nil when there is
// nothing to do. Whoever waits is not offered it, unlike what surrender does:
// the slot may have come long ago, and used only now it would be one too many.
func (l *Limiter) handBack(ctx context.Context, id queueID, receipt any) <-chan struct{} {
	shard := l.waits.shard(id.key)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	q := shard.queue(l, lineID{queueID: id})
	back := q.giveBack(ctx, &slot{receipt: receipt})
	q.advance()
	return back
}

// detached has the store cancel or settle on behalf of a call whose context is
// over.
func (l *Limiter) detached(ctx context.Context, op string, id queueID, f func(context.Context) error) error {
	ctx = context.WithoutCancel(ctx)
	timed, stop := context.WithTimeout(ctx, giveBackTimeout)
	defer stop()
	return l.storeError(ctx, op, id.key, id.cost, f(timed))
}
