package weir

import (
	"context"
	"net/http"
	"time"
)

// WaitMax is WaitN with a longest wait of the call's own.
func (l *Limiter) WaitMax(ctx context.Context, key string, cost int64, maxWait time.Duration) error {
	return l.wait(ctx, key, cost, maxWait)
}

// Timers returns the timers of the limiter's queues.
func (l *Limiter) Timers() (timers []*time.Timer) {
	for i := range l.waits.shards {
		s := &l.waits.shards[i]
		s.mu.Lock()
		for _, q := range s.queues {
			timers = append(timers, q.timer)
		}
		s.mu.Unlock()
	}
	return timers
}

// Waiting returns how many queues the limiter has, -1 if it counts others than
// there are, and how many calls it counts against MaxWaiters.
func (l *Limiter) Waiting() (queues, calls int) {
	for i := range l.waits.shards {
		s := &l.waits.shards[i]
		s.mu.Lock()
		queues += len(s.queues)
		s.mu.Unlock()
	}
	if int(l.waits.queues.Load()) != queues {
		queues = -1
	}
	return queues, int(l.waits.waiting.Load())
}

// Flights returns of how many keys the limiter keeps calls in flight, and whether
// the heartbeat runs.
func (l *Limiter) Flights() (keys int, beats bool) {
	l.flights.mu.Lock()
	defer l.flights.mu.Unlock()
	return len(l.flights.keys), l.flights.beats
}

// KeepInFlight has a response's body release a lease.
func KeepInFlight(resp *http.Response, lease *Lease) { keepInFlight(resp, lease) }

// UnderWay returns how many requests the Transport counts as sent and not
// answered.
func (t *Transport) UnderWay() int64 { return t.underWay.Load() }
