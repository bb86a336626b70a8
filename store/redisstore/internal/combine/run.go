package combine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"
)

// errExit is the error of calls whose Send called runtime.Goexit.
var errExit = errors.New("combine: Send ended its goroutine")

// join returns a batch of the entry alone if the call may leave at once. Otherwise the
// call waits, and join returns nil.
func (q *Queue[K, C]) join(key K, e *entry[K, C]) *batch[K, C] {
	q.mu.Lock()
	defer q.mu.Unlock()
	k := q.keyOf(key)
	waits := !q.isFree(k) || !q.pace.more(q.underWay, q.sent) || len(q.ready) > 0 || len(k.calls) > 0
	if k.calls = append(k.calls, e); waits {
		q.update(k)
		return nil
	}
	b := q.batches.Get().(*batch[K, C])
	b.add(k, 1)
	q.underWay++
	q.sent++
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
// batches.
//
// These form on a new goroutine, created before the last caller wakes up. The scheduler
// runs the goroutine after all callers, so callers that call again at once are in the next
// batch. For the callers of one hot key that doubles the calls of a batch.
func (q *Queue[K, C]) tell(b *batch[K, C], err error) {
	b.cancel()
	callers := q.decide(b, err)
	if len(callers) < 2 {
		for _, e := range callers {
			e.done <- struct{}{}
		}
		q.next(b, false)
		return
	}
	last := callers[len(callers)-1]
	for _, e := range callers[:len(callers)-1] {
		e.done <- struct{}{}
	}
	go q.next(b, true)
	last.done <- struct{}{}
}

// decide marks the calls of a batch that is back as decided, and returns those whose callers
// have not left.
func (q *Queue[K, C]) decide(b *batch[K, C], err error) []*entry[K, C] {
	q.mu.Lock()
	defer q.mu.Unlock()
	b.entries = slices.DeleteFunc(b.entries, q.gone)
	for _, e := range b.entries {
		e.decided, e.err = true, err
	}
	return b.entries
}

// next frees the keys of a batch that is back, and starts batches while calls can leave. here:
// this goroutine runs the first of them.
func (q *Queue[K, C]) next(b *batch[K, C], here bool) {
	q.mu.Lock()
	q.underWay--
	if b.took > 0 {
		q.pace.saw(time.Now(), b.took)
	}
	for i, k := range b.keys {
		k.underWay--
		k.sent -= b.groups[i].n
		q.sent -= b.groups[i].n
		q.update(k)
	}
	var first *batch[K, C]
	for b.reset(); q.pace.more(q.underWay, q.sent) && q.fill(b); b = q.batches.Get().(*batch[K, C]) {
		b.open()
		q.underWay++
		q.sent += len(b.calls)
		if here && first == nil {
			first = b
		} else {
			go q.run(b)
		}
	}
	q.batches.Put(b)
	q.mu.Unlock()
	if first != nil {
		q.run(first)
	}
}

// leave ends the interest of a call's caller, unless the call is decided: see [Pending.Leave].
func (q *Queue[K, C]) leave(e *entry[K, C]) (left, sent bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := e.batch
	if e.decided || b != nil && q.config.Stays != nil && q.config.Stays(&e.call) {
		return false, true
	}
	if e.left = true; b == nil {
		return true, false
	}
	if b.callers--; b.callers == 0 {
		b.cancel()
	}
	return true, true
}
