package combine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// errExit is the error of calls whose Send called runtime.Goexit.
var errExit = errors.New("combine: Send ended its goroutine")

// join returns a batch of the entry alone if the call may leave at once. Otherwise the
// call waits, and join returns nil.
func (q *Queue[K, C]) join(key K, e *entry[K, C]) *batch[K, C] {
	q.mu.Lock()
	defer q.mu.Unlock()
	k := q.waiting.of(key)
	waits := k.underWay >= q.pace.ofKey() || q.underWay >= q.pace.trips || !q.waiting.ready.empty() || !k.calls.empty()
	e.key = k
	k.calls.push(&e.node)
	if waits {
		q.waiting.queue(k, q.pace.ofKey())
		return nil
	}
	b := q.batches.Get().(*batch[K, C])
	b.add(k, 1)
	q.underWay++
	return b
}

// send sends a batch and takes the time, unless it fails: a refused connection tells
// nothing of the network.
func (q *Queue[K, C]) send(ctx context.Context, b *batch[K, C]) error {
	began := time.Now()
	err := q.config.Send(ctx, b.groups)
	if err == nil {
		b.took = time.Since(began)
	}
	return err
}

// deepen grows the stack of a new goroutine in one step while it is empty. A client's
// calls grow it in three, which takes four times as long.
//
//go:noinline
func deepen() byte {
	var frame [12 << 10]byte
	return frame[len(errExit.Error())]
}

// run sends a batch and tells its callers.
func (q *Queue[K, C]) run(b *batch[K, C]) {
	deepen()
	err := errExit
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("combine: Send panicked: %v\n\n%s", r, debug.Stack())
		}
		q.tell(b, err)
	}()
	err = q.send(b.ctx, b)
}

// tell tells the callers of a batch that their calls are decided, and starts the next
// batch.
//
// The next batch forms on a new goroutine, created before the last caller wakes up. The
// scheduler runs the goroutine after all callers, so callers that call again at once are
// in the next batch. For the callers of one hot key that doubles the calls of a batch.
func (q *Queue[K, C]) tell(b *batch[K, C], err error) {
	b.cancel()
	q.mu.Lock()
	orphans := b.decide(err)
	q.mu.Unlock()
	for _, e := range orphans {
		q.release(e)
	}
	callers := b.entries
	if len(callers) < 2 {
		for _, e := range callers {
			e.done <- struct{}{}
		}
		q.goOn(b)
		return
	}
	last := callers[len(callers)-1]
	for _, e := range callers[:len(callers)-1] {
		e.done <- struct{}{}
	}
	go q.resume(b)
	last.done <- struct{}{}
}

// resume runs the batch after b, if any calls can leave.
func (q *Queue[K, C]) resume(b *batch[K, C]) {
	if b = q.next(b); b != nil {
		q.run(b)
	}
}

// goOn runs the batch after b on a new goroutine, if any calls can leave.
func (q *Queue[K, C]) goOn(b *batch[K, C]) {
	if b = q.next(b); b != nil {
		go q.run(b)
	}
}

// next frees the keys of a batch, and makes it the next batch. It returns nil if no
// calls can leave.
func (q *Queue[K, C]) next(b *batch[K, C]) *batch[K, C] {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.underWay--
	if b.took > 0 {
		q.pace.saw(time.Now(), b.took)
	}
	for _, k := range b.keys {
		q.waiting.land(k, q.pace.ofKey())
	}
	b.reset()
	if !q.form(b) {
		q.batches.Put(b)
		return nil
	}
	for q.underWay < q.pace.trips {
		more := q.batches.Get().(*batch[K, C])
		if !q.form(more) {
			q.batches.Put(more)
			break
		}
		go q.run(more)
	}
	return b
}

// form fills an empty batch with the waiting calls of free keys. It reports false if
// there are none.
func (q *Queue[K, C]) form(b *batch[K, C]) bool {
	q.waiting.fill(b, q.config.MaxKeys, q.config.MaxCalls, q.pace.ofKey())
	if len(b.calls) == 0 {
		return false
	}
	b.open()
	q.underWay++
	return true
}

// leave removes the caller of a call, unless the call is decided: see [Pending.Leave].
func (q *Queue[K, C]) leave(e *entry[K, C]) (left, sent bool) {
	q.mu.Lock()
	switch e.state {
	case unsent:
		q.waiting.remove(e)
		q.mu.Unlock()
		q.release(e)
		return true, false
	case onWire:
		e.state = orphaned
		b := e.batch
		b.callers--
		last, cancel := b.callers == 0, b.cancel
		q.mu.Unlock()
		if last {
			cancel()
		}
		return true, true
	}
	q.mu.Unlock()
	return false, true
}
