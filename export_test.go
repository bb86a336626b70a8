package weir

import (
	"context"
	"time"

	"github.com/goweir/weir/internal/line"
)

// WaitMax is WaitN with a MaxWait of the call's own.
func (l *Limiter) WaitMax(ctx context.Context, key string, cost int64, maxWait time.Duration) error {
	_, err := l.waitSlot(ctx, line.ID{Key: key, Cost: cost}, maxWait, false)
	return err
}

// ForgetPanics makes the next panic of a Hook be logged.
func ForgetPanics() { panicked.Store(0) }

// Readable writes a duration as errors do.
var Readable = readable

// ErrEmptyKey is the error of an empty key.
var ErrEmptyKey = errEmptyKey

// Waiting returns how many lines the limiter has, and how many calls it counts
// against MaxWaiters.
func (l *Limiter) Waiting() (lines, calls int) { return l.lines.Count() }

// Flights returns the number of keys with calls in flight, and whether the heartbeat
// runs.
func (l *Limiter) Flights() (keys int, beats bool) { return l.flights.Count() }

// UnderWay returns how many requests the Transport counts as sent and not
// answered.
func (t *Transport) UnderWay() (all int64) {
	for _, n := range t.UnderWayByKey() {
		all += n
	}
	return all
}

// UnderWayByKey returns UnderWay for each key that has any.
func (t *Transport) UnderWayByKey() map[string]int64 {
	all := make(map[string]int64)
	for i := range t.levels {
		for key, n := range t.levels[i].keys.UnderWay() {
			all[key] += n
		}
	}
	return all
}

// MaxLater is how many calls of the store that follow responses run in the background.
const MaxLater = maxLater

// MaxLaterQueue is how many of them wait for their turn.
const MaxLaterQueue = maxLaterQueue

// Laters returns the number of calls of the store that follow responses, under way or
// waiting.
func (l *Limiter) Laters() int64 {
	return l.laters.calls.Load()
}
