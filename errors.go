package weir

import (
	"context"
	"errors"
	"time"

	"github.com/goweir/weir/store"
)

// Never is the RetryAfter of a call that no waiting can ever admit: its cost is
// over a limit's capacity.
const Never = store.Never

// Sentinels for errors.Is. A refusal by a limit, a failure of the store and
// the end of a context are never confused: exactly one of
// errors.Is(err, ErrLimited), errors.Is(err, ErrStore) and
// errors.Is(err, context.Canceled or context.DeadlineExceeded) holds.
var (
	// ErrLimited is matched by every refusal; see *[LimitedError].
	ErrLimited = errors.New("weir: limited")
	// ErrStore is matched by every failure of a store; see *[StoreError].
	ErrStore = errors.New("weir: store failed")
	// ErrConfig is matched by every *[ConfigError].
	ErrConfig = store.ErrConfig
	// ErrUnsupported is returned when a store lacks an optional ability.
	ErrUnsupported = store.ErrUnsupported
)

// ConfigError names the wrong field of a configuration or a call. It matches
// [ErrConfig].
type ConfigError = store.ConfigError

// LimitedError is a refusal by a limit of ours: nothing was charged. It
// matches [ErrLimited], never a context's error. Its text leaves Key out, which
// may be personal data.
type LimitedError struct {
	// Scope is the limiter's name. Key is the counted party.
	Scope, Key string
	// Limit is the binding limit; of ReasonTooManyWaiters and ReasonInFlight, which none
	// decided, one of the limiter's.
	Limit Limit
	// RetryAfter is the wait until the same call succeeds unless others take
	// units; [Never] when no waiting helps, 0 for ReasonTooManyWaiters, where it
	// is not known. For ReasonInFlight it is a bound: most leases are released before
	// they end.
	RetryAfter time.Duration
	// Reason says why: ReasonLimited, ReasonNeverFits, …
	Reason Reason
	// Bound is the bound that the wait would have passed, if it was tried:
	// BoundMaxWait or BoundDeadline. BoundNone for a call that does not wait.
	Bound Bound
}

func (e *LimitedError) Error() string {
	s := "weir: client-side limit " + e.Limit.Policy()
	if e.Scope != "" {
		s += " of " + e.Scope
	}
	s += ": "
	switch {
	case e.Reason == store.ReasonNeverFits:
		return s + "the cost never fits"
	case e.Reason == store.ReasonTooManyWaiters:
		return s + "too many calls are waiting"
	}
	if e.Reason == store.ReasonInFlight {
		s += "too many calls are in flight"
		if e.Bound == BoundMaxWait {
			s += " for longer than the longest wait"
		}
		return s + ", retry after at most " + e.RetryAfter.String()
	}
	if e.Reason == store.ReasonPaused {
		s += "paused, "
	}
	s += "retry after " + e.RetryAfter.String()
	switch e.Bound {
	case BoundMaxWait:
		s += ", which is longer than the longest wait"
	case BoundDeadline:
		s += ", which is past the context's deadline"
	}
	return s
}

// Is reports whether target is [ErrLimited].
func (e *LimitedError) Is(target error) bool { return target == ErrLimited }

// StoreError is a failure of the store: no decision was made. It matches
// [ErrStore] and, unless that would look like the caller's context or like a
// refusal, its cause.
type StoreError struct {
	Op  string // "take", "cancel", "settle", "reset", "brake", "release", "renew"
	Err error  // the store's
}

func (e *StoreError) Error() string { return "weir: store: " + e.Op + ": " + e.Err.Error() }

// Is reports whether target is [ErrStore].
func (e *StoreError) Is(target error) bool { return target == ErrStore }

// Unwrap returns the store's error, or nil when that is a context's error or a
// limiter's: a timeout inside the store is not the end of the caller's context,
// and a limit on the store's own calls is not the caller's limit.
func (e *StoreError) Unwrap() error {
	if isContextError(e.Err) || errors.Is(e.Err, ErrLimited) {
		return nil
	}
	return e.Err
}

func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
