package combine

import "context"

// Do makes Send decide a call, and returns the decided call.
//
// If ctx ends first, Do returns the error of ctx, unless this caller runs Send or the call
// [Config.Stays]: then Do returns when Send does. sent reports whether the call may have been
// sent. It is always true for decided calls.
func (q *Queue[K, C]) Do(ctx context.Context, key K, call C) (result C, sent bool, err error) {
	if err := ctx.Err(); err != nil {
		return result, false, err
	}
	e := q.entry(ctx, call)
	if b := q.join(key, e); b != nil {
		return q.alone(ctx, b)
	}
	select {
	case <-e.done:
	case <-ctx.Done():
		if left, sent := q.leave(e); left {
			return result, sent, ctx.Err()
		}
		<-e.done
	}
	result, err = q.outcome(e)
	return result, true, err
}

// alone sends a batch of one call on the goroutine of its caller.
func (q *Queue[K, C]) alone(ctx context.Context, b *batch[K, C]) (result C, sent bool, err error) {
	defer q.next(b, false) // also after a panic
	e := b.entries[0]
	e.err = q.send(ctx, b)
	result, err = q.outcome(e)
	return result, true, err
}

// Start begins a call and returns without waiting. The end of ctx does not end a call
// that waits: the caller calls [Pending.Leave] then.
//
// Send runs on a goroutine of its own. That costs a lone caller about 20 µs on loopback,
// so callers that can wait for Send use Do.
func (q *Queue[K, C]) Start(ctx context.Context, key K, call C) Pending[K, C] {
	e := q.entry(ctx, call)
	if b := q.join(key, e); b != nil {
		b.ctx, b.cancel = ctx, func() {}
		go q.run(b)
	}
	return Pending[K, C]{q, e}
}

// Pending is a call that [Queue.Start] began. It serves one caller. It is over after
// Result, or when Leave has reported that the caller left.
type Pending[K comparable, C any] struct {
	queue *Queue[K, C]
	entry *entry[K, C]
}

// Done receives one value, when the call is decided.
func (p Pending[K, C]) Done() <-chan struct{} { return p.entry.done }

// Result returns the decided call or the error of Send. The caller calls it once, after
// the value of Done.
func (p Pending[K, C]) Result() (C, error) { return p.queue.outcome(p.entry) }

// Leave ends the interest of the caller. An unsent call is not sent. Leave reports
// left = false, and does nothing, if the value of Done is there or about to come.
func (p Pending[K, C]) Leave() (left, sent bool) { return p.queue.leave(p.entry) }
