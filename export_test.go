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
		for j := range t.levels[i].keys {
			s := &t.levels[i].keys[j]
			s.mu.Lock()
			for _, of := range s.underWay {
				all[of.key] += of.n
			}
			s.mu.Unlock()
		}
	}
	return all
}

// MaxLater is how many calls of the store that follow responses run in the background.
const MaxLater = maxLater
