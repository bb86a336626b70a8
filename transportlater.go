package weir

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/goweir/weir/internal/line"
)

const (
	// concludeTimeout bounds each call of the store that follows a response, and the
	// time that the call waits for its turn.
	concludeTimeout = time.Second
	// maxLater is the maximum number of such calls that run at once, for one limiter.
	// A store needs 50 ms a call to reach it at 10 000 calls a second.
	maxLater = 512
	// maxLaterQueue is the maximum number that wait for their turn.
	maxLaterQueue = 16 * maxLater
)

// errCrowded is the error of a call that follows a response and is not made.
var errCrowded = errors.New("too many calls that follow responses are under way")

// later makes a call of the store that follows a response, in the background. The
// channel is closed afterwards; [line.Linger] waits for that, a moment. While as many
// calls as may be run, the call waits for its turn. A store that is slow for long loses
// the call. The hook sees a failure.
func (l *Limiter) later(ctx context.Context, op string, id line.ID, call func(ctx context.Context)) <-chan struct{} {
	ctx = context.WithoutCancel(ctx)
	done, asked := make(chan struct{}), time.Now()
	lost := func() { _ = l.storeError(ctx, op, id, errCrowded) }
	began := l.laters.begin(func() {
		defer close(done)
		if time.Since(asked) > concludeTimeout {
			lost()
			return
		}
		l.within(ctx, concludeTimeout, op, id, call)
	})
	if !began {
		lost()
		return nil
	}
	return done
}

// laters runs the calls of the store that follow responses.
type laters struct {
	mu      sync.Mutex
	running int
	queue   []func()
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

// run runs a call, and those that wait.
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

// within makes a call in a bounded time. A panic of the store on a goroutine of ours
// would end the program, so the hook sees it as a failure.
func (l *Limiter) within(ctx context.Context, most time.Duration, op string, id line.ID, call func(ctx context.Context)) {
	defer func() {
		if r := recover(); r != nil {
			_ = l.storeError(ctx, op, id, fmt.Errorf("panic: %v", r))
		}
	}()
	timed, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	call(timed)
}
