package weir

import (
	"context"
	"time"
)

// WaitMax is WaitN with a longest wait of the call's own.
func (l *Limiter) WaitMax(ctx context.Context, key string, cost int64, maxWait time.Duration) error {
	return l.wait(ctx, key, cost, maxWait)
}

// Readable writes a duration as errors do.
var Readable = readable

// NameUsers returns how many users of a name the registry has.
func NameUsers(name string) int {
	names.Lock()
	defer names.Unlock()
	return len(names.users[name])
}

// Waiting returns how many lines the limiter has, and how many calls it counts
// against MaxWaiters.
func (l *Limiter) Waiting() (lines, calls int) { return l.lines.Count() }

// Flights returns of how many keys the limiter keeps calls in flight, and whether
// the heartbeat runs.
func (l *Limiter) Flights() (keys int, beats bool) { return l.flights.Count() }

// UnderWay returns how many requests the Transport counts as sent and not
// answered.
func (t *Transport) UnderWay() int64 { return t.upstream.underWay.Load() }
