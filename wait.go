package weir

import (
	"context"
	"time"
)

// waits holds the calls of one Limiter that wait.
type waits struct{}

// Wait blocks until one unit of key may be used: it books the next slot and
// sleeps until then. It fails at once, and takes nothing, with a
// *[LimitedError] when the slot lies past MaxWait or the deadline of ctx. When
// ctx ends first it gives the slot back and returns the context's error.
func (l *Limiter) Wait(ctx context.Context, key string) error {
	return l.WaitN(ctx, key, 1)
}

// WaitN is Wait for a cost.
func (l *Limiter) WaitN(ctx context.Context, key string, cost int64) error {
	return l.wait(ctx, key, cost, l.cfg.MaxWait)
}

func (l *Limiter) wait(ctx context.Context, key string, cost int64, maxWait time.Duration) error {
	longest, bound := l.longestWait(ctx, maxWait)
	d, err := l.take(ctx, key, cost, l.cfg.Limits, longest, true)
	if err != nil {
		return err
	}
	if !d.Allowed {
		return l.limited(key, d, bound)
	}
	timer := time.NewTimer(d.Delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		_ = l.cancel(context.WithoutCancel(ctx), key, cost, d)
		return ctx.Err()
	}
}

// Do waits for one unit of key and then runs f, for work that is not HTTP: a
// job, a task, a query. It returns f's error, or why f was not run.
func (l *Limiter) Do(ctx context.Context, key string, f func(ctx context.Context) error) error {
	if err := l.Wait(ctx, key); err != nil {
		return err
	}
	return f(ctx)
}
