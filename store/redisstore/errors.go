package redisstore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// ErrCrossSlot is returned when charges of different keys live in different slots of a
// cluster, on shards of a ring or on servers behind a proxy, and the request may wait or
// asks for a lease. Such requests must do neither, or must be taken one by one, narrowest
// first: cancel the granted ones when a later one is refused. It matches
// store.ErrUnsupported.
var ErrCrossSlot = fmt.Errorf("redisstore: charges of different keys live in different slots: %w", store.ErrUnsupported)

// ErrState is returned when a key holds a value that is not weir's: another type, another
// program's value, or a damaged one. Reset the key to go on.
var ErrState = errors.New("redisstore: the key holds something else")

// ErrVersion is returned when another version of weir wrote a key's state, and this one
// can't read it. Reset the key to go on, or use one version.
var ErrVersion = fmt.Errorf("%w: a state of another version of weir", ErrState)

// ErrClosed is returned after Close.
var ErrClosed = errors.New("redisstore: the store is closed")

// ErrTime is returned when the server refuses TIME in scripts: set Config.PassTime.
var ErrTime = errors.New("redisstore: the server refuses TIME in scripts: set Config.PassTime")

// isSplit reports whether a call was refused because its keys may be on two nodes.
func isSplit(err error) bool { return err != nil && redis.HasErrorPrefix(err, "TRYAGAIN") }

// splitError is the refusal of a call whose keys are on the move.
type splitError struct{ error }

func (e *splitError) Unwrap() error { return e.error }

// OfOneKey implements the KeyError of package fallback.
func (e *splitError) OfOneKey() bool { return true }

// classify wraps server errors that have a meaning for weir.
func classify(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	switch {
	case strings.Contains(text, "WEIRSTATE a value of another version"):
		return &stateError{kind: ErrVersion, err: err}
	case strings.Contains(text, "WEIRSTATE"), strings.Contains(text, "WRONGTYPE"):
		return &stateError{kind: ErrState, err: err}
	case strings.Contains(text, "WEIRTIME"):
		return &stateError{kind: ErrTime, err: err}
	case strings.Contains(text, "CROSSSLOT"):
		return &stateError{kind: ErrCrossSlot, err: err}
	case isSplit(err):
		return &splitError{err}
	case redis.HasErrorPrefix(err, "NOPERM"):
		return &deniedError{err}
	}
	return err
}

// deniedError is the refusal of a call with keys forbidden to the user.
type deniedError struct{ error }

func (e *deniedError) Unwrap() error { return e.error }

// OfOneKey implements the KeyError of package fallback: other keys may be allowed.
func (e *deniedError) OfOneKey() bool { return true }

// stateError matches its kind and the server's error.
type stateError struct{ kind, err error }

func (e *stateError) Error() string   { return e.kind.Error() + ": " + e.err.Error() }
func (e *stateError) Unwrap() []error { return []error{e.kind, e.err} }

// OfOneKey implements the KeyError of package fallback: a foreign value under one key is no
// outage.
func (e *stateError) OfOneKey() bool { return errors.Is(e.kind, ErrState) }
