package weir

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goweir/weir/store"
)

// Sentinels for errors.Is. A refusal by a limit, a failure of the store and the end
// of a context are never confused: an error matches at most one of ErrLimited,
// ErrStore, and context.Canceled or context.DeadlineExceeded.
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
	Cost       int64 // units that the call wanted
	// Limit is the binding limit. With ReasonTooManyWaiters and ReasonInFlight no limit
	// refused, and this is any of the limiter's.
	Limit Limit
	// RetryAfter is the wait until the same call succeeds unless others take
	// units; [store.Never] when no waiting helps, 0 for ReasonTooManyWaiters, where it
	// is not known. For ReasonInFlight it is a bound: most leases are released before
	// they end. The text rounds it up.
	RetryAfter time.Duration
	// Reason says why: ReasonLimited, ReasonNeverFits, …
	Reason Reason
	// MaxWait is the maximum wait of the call, if its slot lay past that. 0: it did not,
	// or the call does not wait.
	MaxWait time.Duration
	// PastDeadline: the slot lay past the context's deadline.
	PastDeadline bool
}

func (e *LimitedError) Error() string {
	s := "weir: client-side limit " + e.Limit.Policy()
	if e.Scope != "" {
		s += " of " + e.Scope
	}
	s += ": "
	switch e.Reason {
	case store.ReasonNeverFits:
		return s + e.neverFits()
	case store.ReasonTooManyWaiters:
		return s + "too many calls are waiting"
	case store.ReasonInFlight:
		s += "too many calls are in flight"
		if e.MaxWait > 0 {
			return s + " for longer than the MaxWait of " + readable(e.MaxWait) + ", retry after at most " + readable(e.RetryAfter) + "; are leases released and response bodies closed?"
		}
		return s + ", retry after at most " + readable(e.RetryAfter)
	case store.ReasonPaused:
		s += "paused, "
	}
	s += "retry after " + readable(e.RetryAfter)
	switch {
	case e.MaxWait > 0:
		s += ", which is past the MaxWait of " + readable(e.MaxWait)
	case e.PastDeadline:
		s += ", which is past the context's deadline"
	}
	return s
}

// neverFits writes out the cost and the maximum.
func (e *LimitedError) neverFits() string {
	if e.Cost == 0 {
		return "the cost never fits"
	}
	s := fmt.Sprintf("a cost of %d never fits", e.Cost)
	if most := e.Limit.Max(); e.Cost > most { // Otherwise calls of the background class leave more than the rest to others.
		s += fmt.Sprintf(", the maximum is %d", most)
	}
	return s
}

// readable writes a duration as a person does: with three digits, from 1000 s on in whole
// minutes, and without units that are 0. It rounds up.
func readable(d time.Duration) string {
	unit := time.Duration(1)
	for d/unit >= 1000 && unit < time.Second {
		unit *= 10
	}
	if d >= 1000*time.Second {
		unit = time.Minute
	}
	if rest := d % unit; rest > 0 && d < store.Never-unit {
		d += unit - rest
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Is reports whether target is [ErrLimited].
func (e *LimitedError) Is(target error) bool { return target == ErrLimited }

// StoreError is a failure of the store: no decision was made. It matches [ErrStore] and
// its cause. It never matches [ErrLimited] or a context's error, even if its cause does.
type StoreError struct {
	Op  string // "take", "cancel", "settle", "reset", "brake", "release", "renew"
	Err error  // the store's
}

func (e *StoreError) Error() string { return fmt.Sprintf("weir: store: %s: %v", e.Op, e.Err) }

// Unwrap returns [ErrStore] and the store's error, but none that is a context's or a
// limiter's: a timeout inside the store is not the end of the caller's context, and a
// limit on the store's own calls is not the caller's limit.
func (e *StoreError) Unwrap() []error {
	if errors.Is(e.Err, context.Canceled) || errors.Is(e.Err, context.DeadlineExceeded) || errors.Is(e.Err, ErrLimited) {
		return []error{ErrStore}
	}
	return []error{ErrStore, e.Err}
}
