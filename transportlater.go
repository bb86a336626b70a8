package weir

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goweir/weir/internal/line"
)

// concludeTimeout bounds each call of the store that follows a response, and the time
// that the call waits for its turn.
const concludeTimeout = time.Second

// errCrowded is the error of a call that follows a response and is not made.
var errCrowded = errors.New("too many calls that follow responses are under way")

// later makes a call of the store that follows a response, in the background. The
// channel is closed afterwards; [line.Linger] waits for that, a moment. While as many
// calls as may be run, the call waits for its turn. A store that is slow for long loses
// the call. The hook sees a failure.
func (l *Limiter) later(ctx context.Context, op string, id line.ID, call func(ctx context.Context)) <-chan struct{} {
	ctx = context.WithoutCancel(ctx)
	done, asked := make(chan struct{}), time.Now()
	lost := func() { l.events.failed(ctx, op, id, errCrowded) }
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

// within makes a call in a bounded time. A panic of the store or the hook on a goroutine
// of ours would end the program, so the hook sees it as a failure.
func (l *Limiter) within(ctx context.Context, most time.Duration, op string, id line.ID, call func(ctx context.Context)) {
	defer func() {
		if r := recover(); r != nil {
			l.events.failed(ctx, op, id, fmt.Errorf("panic: %v", r))
		}
	}()
	timed, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	call(timed)
}
