package line

import (
	"context"
	"time"
)

const (
	// GiveBackTimeout bounds each call of the store for a context that is over. When the
	// failed calls of a line have taken that long together, the line abandons the rest of
	// its slots: they go unused, and no limit is exceeded.
	GiveBackTimeout = 5 * time.Second
	// Grace is how long a call waits for its own calls of the store that run in the
	// background. A healthy store needs less. So a program that ends with its contexts
	// cuts no give-back off, and a slow store does not hold it up.
	Grace = 20 * time.Millisecond
)

// surplus is a slot on its way back to the store.
type surplus struct {
	ctx     context.Context // the leaver's, for its values
	receipt any
	done    chan struct{}
}

// giveBack gives a slot back in the background. The channel is closed afterwards;
// nil: there is nothing to do. The shard is locked.
//
// A line has one goroutine for this. So a thousand cancelled calls start one goroutine,
// and their give-backs do not overtake each other: each stays exact.
func (q *line) giveBack(ctx context.Context, receipt any) <-chan struct{} {
	if q.lines.cfg.Cancel == nil || receipt == nil {
		return nil
	}
	done := make(chan struct{})
	q.back = done
	q.surplus = append(q.surplus, surplus{ctx, receipt, done})
	if !q.giving {
		q.giving = true
		go q.giveAllBack()
	}
	return done
}

func (q *line) giveAllBack() {
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
			if failed < GiveBackTimeout && !q.giveOneBack(s) {
				failed += time.Since(start)
			}
			close(s.done)
		}
	}
}

// giveOneBack reports whether the store took the slot back.
func (q *line) giveOneBack(s surplus) (ok bool) {
	// A panic on this goroutine would end the program.
	defer func() {
		if r := recover(); r != nil {
			q.lines.cfg.Panicked(s.ctx, q.id, r)
		}
	}()
	return q.lines.cfg.Cancel(s.ctx, q.id, s.receipt) == nil
}

// Linger waits until background calls of the store are done, but not longer than
// Grace. Nil channels are done.
func Linger(calls ...<-chan struct{}) {
	var timer *time.Timer
	for _, done := range calls {
		if done == nil {
			continue
		}
		if timer == nil {
			timer = time.NewTimer(Grace)
			defer timer.Stop()
		}
		select {
		case <-done:
		case <-timer.C:
			return
		}
	}
}
