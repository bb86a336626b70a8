package llm

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
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

// queue is the calls of a process that wait for a family's budgets, in two classes.
// The first of each class asks the store again and again, and the others wait behind
// it in the order of their arrival.
type queue struct {
	turns      [2]chan struct{} // holds the turn of a class, which goes first come first served
	refused    [2]atomic.Bool   // the last answer to the first of a class was no
	foreground atomic.Int64     // calls that wait and are not in the background
}

func newQueue() *queue {
	return &queue{turns: [2]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}}
}

// classOf returns the class of a call.
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
// most its argument. first is the refusal of the call's first question; zero if there was
// none.
func (q *queue) wait(ctx context.Context, end time.Time, first weir.Decision, ask func(time.Duration) (weir.Decision, error)) (d weir.Decision, err error) {
	class, d := classOf(ctx), first
	if class == 0 {
		q.foreground.Add(1)
		defer q.foreground.Add(-1)
	}
	over := time.NewTimer(time.Until(end))
	defer over.Stop()
	select {
	case q.turns[class] <- struct{}{}:
		defer func() {
			q.refused[class].Store(false)
			<-q.turns[class]
		}()
	case <-over.C:
		return last(d, ask)
	case <-ctx.Done():
		return d, ctx.Err()
	}
	turn := time.Now()
	for {
		poll := minPoll
		if class == 0 || q.foreground.Load() == 0 {
			left, ahead := time.Until(end), time.Duration(0)
			if class == 0 && time.Since(turn) > patience {
				ahead = max(left, 0)
			}
			d, err = ask(ahead)
			q.refused[class].Store(!d.Allowed)
			hopeless := d.Reason == weir.ReasonNeverFits || d.Reason == weir.ReasonPaused && d.RetryAfter > left
			if err != nil || d.Allowed || hopeless {
				return d, err
			}
			poll = min(max(d.RetryAfter/4, minPoll), maxPoll, max(d.RetryAfter, time.Microsecond))
		} else {
			poll = maxPoll / 5
		}
		again := time.NewTimer(poll)
		select {
		case <-again.C:
		case <-over.C:
			again.Stop()
			return last(d, ask)
		case <-ctx.Done():
			again.Stop()
			return d, ctx.Err()
		}
	}
}

// last returns the last refusal, or asks for the first time.
func last(d weir.Decision, ask func(time.Duration) (weir.Decision, error)) (weir.Decision, error) {
	if d.Scope == "" {
		return ask(0)
	}
	return d, nil
}
