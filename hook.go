package weir

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/internal/deadline"
	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/upstream"
)

// Hook observes events, for metrics, traces and logs. A nil Hook costs nothing. It runs
// on the goroutine of the call, so it must be quick, and on many goroutines at once. Calls
// of the store that follow a call come on a goroutine in the background: a slot given
// back, a lease released or renewed, a response heeded.
//
// A panic of a Hook is logged, at most once a second, and the call goes on.
type Hook func(ctx context.Context, e Event)

// ObserveFallback returns a function for fallback.Config.OnChange: hook observes each
// change as an [EventFallback] with the store's name as Scope. A nil hook observes
// nothing.
func ObserveFallback(hook Hook, name string) func(store.Change) {
	return func(c store.Change) {
		if hook == nil {
			return
		}
		defer contain(name, EventFallback)
		hook(context.Background(), Event{Kind: EventFallback, Scope: name, Took: c.After, Err: c.Err})
	}
}

// panicked is when the last panic of a Hook was logged, Unix time in seconds.
var panicked atomic.Int64

// contain recovers a panic of a Hook: it must neither cost a booked slot nor, in the
// background, end the program.
func contain(scope string, kind EventKind) {
	r := recover()
	if r == nil {
		return
	}
	if now := time.Now().Unix(); panicked.Swap(now) != now {
		slog.Error("weir: a Hook panicked", "limiter", scope, "event", kind.String(), "panic", r, "stack", string(debug.Stack()))
	}
}

// EventKind is the kind of an Event. Kinds may be added: ignore unknown ones.
type EventKind uint8

// The kinds of events. See [Event] for the fields that each one sets.
const (
	// EventDecision: a call was decided.
	EventDecision EventKind = iota + 1
	// EventWait: a wait ended. A call that is decided at once does not wait.
	EventWait
	// EventLeaseLost: a call in flight is not counted any more, as its lease could
	// not be renewed in time or the key was reset. It comes in the background.
	EventLeaseLost
	// EventWaitBegin: a wait began. One EventWait of the same Scope and Key follows.
	EventWaitBegin
	// EventStoreCall: a call of the store ended, and no EventDecision shows it. Err is a
	// *[StoreError] if the store failed.
	EventStoreCall
	// EventRefusal: an upstream refused a request that a [Transport] sent.
	EventRefusal
	// EventBudget: a response to a [Transport] named a budget.
	EventBudget
	// EventPaused: a key was paused.
	EventPaused
	// EventSlowed: a key's rate was lowered.
	EventSlowed
	// EventLifted: a pause or a lower rate was lifted. Those that end by themselves
	// have no event.
	EventLifted
	// EventSettled: the real cost of a call became known, and the store counts it.
	EventSettled
	// EventFallback: a primary store went away or is back. It comes through
	// [ObserveFallback] alone.
	EventFallback

	eventKinds
)

var eventKindNames = [eventKinds]string{
	"unknown", "decision", "wait", "lease_lost", "wait_begin", "store_call",
	"refusal", "budget", "paused", "slowed", "lifted", "settled", "fallback",
}

// String returns the kind in lower case with underscores, fit for a metric's label.
func (k EventKind) String() string {
	if k >= eventKinds {
		return eventKindNames[0]
	}
	return eventKindNames[k]
}

// Event is one thing that happened. Its Kind says which fields are set; all others are
// zero. Scope is set by each kind. Key is set by all but EventFallback, and may be
// personal data: it is no label for metrics. Scope and Decision.Limit are bounded.
// The names of budgets come from outside: bound their number.
//
// Each call of the store has one event with an Op: the EventDecision that it made, or an
// EventStoreCall. A decision in a process's memory alone may need no call.
//
//	Kind             further fields
//	EventDecision    Cost, Decision, and Op and Took of the call of the store that made it
//	EventWaitBegin   Cost, Decision: the last on the call, zero before the first
//	EventWait        Cost, Decision as above, Took, Err: why the wait ended early
//	EventStoreCall   Cost, Op, Took, Err, Decision.Source of a take
//	EventLeaseLost   none
//	EventRefusal     Status, Pause: the asked time, 0 without one
//	EventBudget      Budget
//	EventPaused      By, Pause
//	EventSlowed      By
//	EventLifted      By
//	EventSettled     Cost: the estimate, Actual
//	EventFallback    Err: why the primary went away; nil: it is back. Took: the time that
//	                 it was there, or away
type Event struct {
	Kind EventKind // never zero
	// By says who paused the key, slowed it down or lifted that: upstream (an answer to an
	// outbound call), hand (a call of Pause or Resume), penalty, or another word of PauseBy.
	By string
	// Status is the status of a refusal.
	Status int
	// Scope is the limiter's name, of EventFallback the store's.
	Scope string
	Key   string // the counted party
	// Cost is the number of units that the call takes.
	Cost int64
	// Actual is the real cost of a call, Cost the estimate.
	Actual   int64
	Decision Decision // zero without one
	// Op is the operation of a call of the store: take, cancel, settle, brake, reset,
	// release or renew. The last two are of leases. Empty: the event shows no call.
	Op string
	// Took is the time that a call of the store took, or the time from a call to the end of
	// its wait.
	Took time.Duration
	// Pause is how long a key is paused.
	Pause time.Duration
	// Budget is an upstream's budget. It must not be changed.
	Budget *upstream.Budget
	Err    error // nil: none
}

// Result returns the outcome of an event in a word, fit for a metric's label:
//
//	a Reason's text        of a decision, and of a wait that a limit ended; "allowed" at its slot
//	"answered"             of a call of the store
//	"canceled" "deadline"  of a wait and of a call of the store: its context ended
//	"store_error"          of both: the store failed
//	"error"                of both: any other error, as for a wrong argument
//
// It is "" for other kinds.
func (e *Event) Result() string {
	switch e.Kind {
	case EventDecision:
		return e.Decision.Reason.String()
	case EventWait, EventStoreCall:
	default:
		return ""
	}
	switch limited, ok := errors.AsType[*LimitedError](e.Err); {
	case ok:
		return limited.Reason.String()
	case e.Err == nil && e.Kind == EventWait:
		return ReasonAllowed.String()
	case e.Err == nil:
		return "answered"
	case errors.Is(e.Err, ErrStore):
		return "store_error"
	case errors.Is(e.Err, context.Canceled):
		return "canceled"
	case errors.Is(e.Err, context.DeadlineExceeded):
		return "deadline"
	}
	return "error"
}

// Values of Event.By.
const (
	byUpstream = "upstream"
	byHand     = "hand"
)

// observer shows events of a limiter to a hook. Without a hook it shows nothing.
type observer struct {
	name string
	hook Hook
}

// show shows an event about a key.
func (o *observer) show(ctx context.Context, id line.ID, e *Event) {
	if o.hook == nil {
		return
	}
	e.Scope, e.Key, e.Cost = o.name, id.Key, id.Cost
	defer contain(o.name, e.Kind)
	o.hook(ctx, *e)
}

// decided shows an event with a decision.
func (o *observer) decided(ctx context.Context, id line.ID, d *store.Decision, e Event) {
	if o.hook != nil {
		e.Decision.from(d)
		o.show(ctx, id, &e)
	}
}

// braked shows each part of a brake.
func (o *observer) braked(ctx context.Context, id line.ID, b *store.Brake, by string) {
	if b.Lift {
		o.show(ctx, id, &Event{Kind: EventLifted, By: by})
		return
	}
	if b.Pause > 0 {
		o.show(ctx, id, &Event{Kind: EventPaused, By: by, Pause: b.Pause})
	}
	switch slower := b.Cut.Unit > 0 || b.Tell && b.Gap > 0; {
	case slower:
		o.show(ctx, id, &Event{Kind: EventSlowed, By: by})
	case b.Tell:
		o.show(ctx, id, &Event{Kind: EventLifted, By: by})
	}
}

// epoch is where times of begin count from. A time since then takes one reading of the
// monotonic clock; time.Now reads the wall clock too, which takes 15 ns more.
var epoch = time.Now()

// begin returns the start of a call of the store. Without a hook it reads no clock.
func (o *observer) begin() (began time.Duration) {
	if o.hook != nil {
		began = time.Since(epoch)
	}
	return began
}

// end ends a call of the store, which a source decided. It returns the caller's error.
func (o *observer) end(ctx context.Context, op string, id line.ID, began time.Duration, source store.Source, err error) error {
	err = storeError(ctx, op, err)
	if o.hook != nil {
		o.show(ctx, id, &Event{Kind: EventStoreCall, Op: op, Took: time.Since(epoch) - began, Err: err, Decision: Decision{Source: source}})
	}
	return err
}

// failed ends a call of the store in the background that was not made, or that panicked.
func (o *observer) failed(ctx context.Context, op string, id line.ID, err error) error {
	return o.end(context.WithoutCancel(ctx), op, id, o.begin(), store.SourceStore, err)
}

// storeError turns the store's error into the caller's: the end of its context, a
// mistake in its request, or a *StoreError.
func storeError(ctx context.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	if ended := deadline.Ended(ctx); ended != nil {
		return ended
	}
	if errors.Is(err, store.ErrConfig) || errors.Is(err, store.ErrUnsupported) {
		return err
	}
	return &StoreError{Op: op, Err: err}
}

// recovered makes a panic of the store the error of a call.
func (o *observer) recovered(ctx context.Context, op string, id line.ID, err *error) {
	if r := recover(); r != nil {
		*err = o.failed(ctx, op, id, fmt.Errorf("panic: %v", r))
	}
}

// detached asks the store for a call whose context is over, within a time. A panic of the
// store is an error: it would end the program in the background.
func (o *observer) detached(ctx context.Context, op string, id line.ID, within time.Duration, f func(context.Context) error) (err error) {
	ctx = context.WithoutCancel(ctx)
	defer o.recovered(ctx, op, id, &err)
	timed, stop := context.WithTimeout(ctx, within)
	defer stop()
	began := o.begin()
	return o.end(ctx, op, id, began, store.SourceStore, f(timed))
}
