package weir

import (
	"context"
	"time"
)

// Hook observes decisions, waits and failures, for metrics, traces and logs. A nil
// Hook costs nothing. Observe runs on the goroutine of the call, so it must be quick,
// and on many goroutines at once. Failures to give back the slot of a cancelled wait,
// or to release or renew a lease, come on a goroutine in the background.
type Hook interface {
	Observe(ctx context.Context, e Event)
}

// HookFunc is a function that is a Hook.
type HookFunc func(ctx context.Context, e Event)

// Observe calls f.
func (f HookFunc) Observe(ctx context.Context, e Event) { f(ctx, e) }

// EventKind is the kind of an Event. Kinds may be added: ignore unknown ones.
type EventKind uint8

const (
	// EventDecision: the store decided, or ReasonTooManyWaiters refused in its place;
	// Decision is set.
	EventDecision EventKind = iota + 1
	// EventWait: a wait ended; Decision is the last on the call, which granted its
	// slot or refused it, Wait is how long it took from the call on, and Err is why
	// it ended early, nil when its slot came. A call that is admitted or refused at
	// once does not wait.
	EventWait
	// EventStoreError: the store failed; Err is a *[StoreError].
	EventStoreError
	// EventLeaseLost: a call in flight is not counted any more, as its lease could
	// not be renewed in time or the key was reset. Told of in the background.
	EventLeaseLost

	eventKinds
)

var eventKindNames = [eventKinds]string{"unknown", "decision", "wait", "store_error", "lease_lost"}

// String returns the kind in lower case with underscores, fit for a metric's label.
func (k EventKind) String() string {
	if k >= eventKinds {
		return eventKindNames[0]
	}
	return eventKindNames[k]
}

// Event is one thing that happened. Key may be personal data: use Scope and
// Decision.Limit, which are bounded, for labels.
type Event struct {
	Kind     EventKind
	Scope    string // the limiter's name
	Key      string
	Cost     int64
	Decision Decision
	Wait     time.Duration
	Err      error
}
