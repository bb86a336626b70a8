package weir

import (
	"context"
	"fmt"
	"time"

	"github.com/goweir/weir/internal/line"
)

const (
	// concludeTimeout bounds each call of the store that follows a response.
	concludeTimeout = time.Second
	// maxLater is the maximum number of such calls that run in the background, for
	// one limiter. A store needs 50 ms a call to reach it at 10 000 calls a second.
	maxLater = 512
)

// later makes a call of the store that follows a response, in the background. The
// channel is closed afterwards; [line.Linger] waits for that, a moment. If as many
// calls as may be are under way, later makes the call itself, in that moment, and
// returns nil. The hook sees a failure.
func (l *Limiter) later(ctx context.Context, op string, id line.ID, call func(ctx context.Context)) <-chan struct{} {
	ctx = context.WithoutCancel(ctx)
	if l.laters.Add(1) > maxLater {
		l.laters.Add(-1)
		l.within(ctx, line.Grace, op, id, call)
		return nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer l.laters.Add(-1)
		l.within(ctx, concludeTimeout, op, id, call)
	}()
	return done
}

// within makes a call in a bounded time. A panic of the store on a goroutine of ours
// would end the program, so the hook sees it as a failure.
func (l *Limiter) within(ctx context.Context, most time.Duration, op string, id line.ID, call func(ctx context.Context)) {
	defer func() {
		if r := recover(); r != nil {
			_ = l.events.storeError(ctx, op, id, fmt.Errorf("panic: %v", r))
		}
	}()
	timed, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	call(timed)
}
