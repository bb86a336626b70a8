package llm

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/deadline"
	"github.com/goweir/weir/internal/line"
)

const (
	// minPoll and maxPoll bound the time between two questions of the first in line.
	minPoll = 5 * time.Millisecond
	maxPoll = 250 * time.Millisecond
	// patience is how long the first in line waits for free units before it books
	// ahead: small calls of other processes may take all units that a large one needs.
	patience = time.Minute
	// longest bounds a wait that nothing else bounds.
	longest = 365 * 24 * time.Hour
)

// queue is the calls of a process that wait for a family's budgets, in two classes. The first
// of a class asks the store again and again. The others wait behind it in their order.
type queue struct {
	turns      [2]chan struct{} // holds the turn of a class, which goes first come first served
	refused    [2]atomic.Bool   // the last answer to the first of a class was no, but for a pause
	foreground atomic.Int64     // calls that wait and are not in the background
}

func newQueue() *queue {
	return &queue{turns: [2]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}}
}

func classOf(ctx context.Context) int {
	if line.InBackground(ctx) {
		return 1
	}
	return 0
}

// busy reports whether a new call has to line up behind waiting calls. If not, it may ask
// without waiting for theirs.
func (q *queue) busy(ctx context.Context) bool {
	class := classOf(ctx)
	return q.refused[class].Load() || class == 1 && q.foreground.Load() > 0
}

// wait waits until ask is granted, the instant end comes or ctx ends. ask books ahead by at
// most its argument. d is the refusal of the call's first question; zero if there was none.
func (q *queue) wait(ctx context.Context, end time.Time, d weir.Decision, ask func(time.Duration) (weir.Decision, error)) (weir.Decision, error) {
	class := classOf(ctx)
	if class == 0 {
		q.foreground.Add(1)
		defer q.foreground.Add(-1)
	}
	timed, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	select {
	case q.turns[class] <- struct{}{}:
		defer func() {
			q.refused[class].Store(false)
			<-q.turns[class]
		}()
	case <-timed.Done():
		return d, ctx.Err()
	}
	for turn := time.Now(); ; {
		poll := maxPoll / 5
		if class == 0 || q.foreground.Load() == 0 {
			ahead := time.Duration(0)
			if class == 0 && time.Since(turn) > patience {
				ahead = max(time.Until(end), 0)
			}
			var err error
			d, err = ask(ahead)
			q.refused[class].Store(!d.Allowed && d.Reason != weir.ReasonPaused)
			if err != nil || d.Allowed || hopeless(ctx, &d, end) {
				return d, err
			}
			poll = min(max(d.RetryAfter/4, minPoll), maxPoll, max(d.RetryAfter, time.Microsecond))
		}
		if deadline.Sleep(timed, poll) != nil {
			return d, ctx.Err()
		}
	}
}

// hopeless reports whether a refused call has no slot before the instant end and the
// deadline of ctx.
func hopeless(ctx context.Context, d *weir.Decision, end time.Time) bool {
	left, _ := deadline.Max(ctx, time.Now(), max(time.Until(end), 1))
	return d.Reason == weir.ReasonNeverFits || d.Reason == weir.ReasonPaused && d.RetryAfter > left
}
