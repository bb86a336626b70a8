package weir

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/goweir/weir/internal/line"
)

const (
	// maxLater is the maximum number of calls that run at once, for one limiter. A
	// store needs 50 ms a call to reach it at 10 000 calls a second.
	maxLater = 512
	// maxLaterQueue is the maximum number that wait for their turn.
	maxLaterQueue = 16 * maxLater
	// concludeTimeout bounds each call of the store that follows a response, and the time
	// that the call waits for its turn.
	concludeTimeout = time.Second
)

// errCrowded is the error of a call that follows a response and is not made.
var errCrowded = errors.New("too many calls that follow responses are under way")

// laters runs the calls of the store that follow responses.
type laters struct {
	events  observer
	mu      sync.Mutex
	running int
	queue   []func()
}

// later makes a call in the background, in a bounded time. The channel is closed
// afterwards; [line.Linger] waits for that, a moment. While maxLater calls run, the call
// waits for its turn. If the store is slow for long, the call is dropped. The hook sees a
// failure. A panic of the store would end the program, so it is a failure too.
func (r *laters) later(ctx context.Context, op string, id line.ID, call func(ctx context.Context)) <-chan struct{} {
	ctx = context.WithoutCancel(ctx)
	done, asked := make(chan struct{}), time.Now()
	failed := func(err error) { _ = r.events.failed(ctx, op, id, err) }
	began := r.begin(func() {
		defer close(done)
		if time.Since(asked) > concludeTimeout {
			failed(errCrowded)
			return
		}
		defer r.events.recovered(ctx, op, id, new(error))
		timed, cancel := context.WithTimeout(ctx, concludeTimeout)
		defer cancel()
		call(timed)
	})
	if !began {
		failed(errCrowded)
		return nil
	}
	return done
}

// begin runs a call on a goroutine, now or later. It reports false when too many wait.
func (r *laters) begin(call func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.running < maxLater:
		r.running++
		go r.run(call)
	case len(r.queue) < maxLaterQueue:
		r.queue = append(r.queue, call)
	default:
		return false
	}
	return true
}

// run runs a call, and then the waiting calls.
func (r *laters) run(call func()) {
	for ; call != nil; call = r.next() {
		call()
	}
}

// next returns the call that has waited the longest; nil: none waits, and the goroutine
// ends.
func (r *laters) next() (call func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) == 0 {
		r.queue = nil
		r.running--
		return nil
	}
	call, r.queue[0] = r.queue[0], nil
	r.queue = r.queue[1:]
	return call
}
