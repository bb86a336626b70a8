// Package deadline relates a call's longest wait to its context's deadline.
package deadline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goweir/weir/store"
)

// Max returns the longest delay that a call may be granted, and whether the
// deadline of ctx bounds it. A maxWait of 0 is no bound.
func Max(ctx context.Context, now time.Time, maxWait time.Duration) (longest time.Duration, byDeadline bool) {
	if maxWait <= 0 {
		maxWait = store.MaxPeriod / 4
	}
	if deadline, ok := ctx.Deadline(); ok {
		if left := deadline.Sub(now); left < maxWait {
			return max(0, left), true
		}
	}
	return maxWait, false
}

// Passed reports whether a slot granted at now lies past the deadline: the round
// trip to the store took that long.
func Passed(ctx context.Context, delay time.Duration, now time.Time) bool {
	deadline, ok := ctx.Deadline()
	return ok && now.Add(delay).After(deadline)
}

// endGrace is how long a context whose deadline has passed may take to say so.
const endGrace = 10 * time.Millisecond

// Ended returns ctx.Err(). A connection with the same deadline may hear of it
// first, so it waits for a context whose deadline has passed.
func Ended(ctx context.Context) error {
	err := ctx.Err()
	if deadline, ok := ctx.Deadline(); err != nil || !ok || time.Now().Before(deadline) {
		return err
	}
	select {
	case <-ctx.Done():
	case <-time.After(endGrace):
	}
	return ctx.Err()
}

// Sleep waits for d, or until ctx ends.
func Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// WithCause adds the cause of a context's end to an error that is that end. The result
// matches both.
func WithCause(ctx context.Context, err error) error {
	ended := ctx.Err()
	if ended == nil || !errors.Is(err, ended) {
		return err
	}
	if cause := context.Cause(ctx); !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
