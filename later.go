package weir

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/internal/line"
)

const (
	// maxLater is the maximum number of calls that run at once, for one limiter. A
	// store needs 50 ms a call to reach it at 10 000 calls a second.
	maxLater = 512
	// maxLaterQueue is the maximum number that wait for their turn.
	maxLaterQueue = 16 * maxLater
	// concludeTimeout bounds each call of the store that follows a response.
	concludeTimeout = time.Second
	// turnTimeout bounds the time that the call waits for its turn. It is longer than a
	// call, so the next calls take the turns of calls that time out.
	turnTimeout = concludeTimeout + concludeTimeout/2
)

// errCrowded is the error of a call that follows a response and is not made.
var errCrowded = errors.New("too many calls that follow responses are under way")

// laters runs the calls of the store that follow responses.
type laters struct {
	events observer
	calls  atomic.Int64  // that run or wait
	turns  chan struct{} // has one for each call that runs
}

// later makes a call in the background, in a bounded time. The channel is closed
// afterwards; [line.Linger] waits for that, a moment. While maxLater calls run, the call
// waits for its turn. If the store is slow for long, the call is dropped. The hook sees a
// failure. A panic of the store would end the program, so it is a failure too.
func (r *laters) later(ctx context.Context, op string, id line.ID, call func(ctx context.Context)) <-chan struct{} {
	ctx = context.WithoutCancel(ctx)
	if r.calls.Add(1) > maxLater+maxLaterQueue {
		r.calls.Add(-1)
		_ = r.events.failed(ctx, op, id, errCrowded)
		return nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer r.calls.Add(-1)
		defer r.events.recovered(ctx, op, id, new(error))
		select {
		case r.turns <- struct{}{}:
			defer func() { <-r.turns }()
		case <-time.After(turnTimeout):
			_ = r.events.failed(ctx, op, id, errCrowded)
			return
		}
		timed, cancel := context.WithTimeout(ctx, concludeTimeout)
		defer cancel()
		call(timed)
	}()
	return done
}
