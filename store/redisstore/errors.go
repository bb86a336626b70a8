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

// meanings are server errors by a part of their text.
var meanings = []struct {
	text string
	kind error
}{
	{"WEIRSTATE a value of another version", ErrVersion},
	{"WEIRSTATE", ErrState},
	{"WRONGTYPE", ErrState},
	{"WEIRTIME", ErrTime},
	{"CROSSSLOT", ErrCrossSlot},
}

// classify wraps an error of the server that has a meaning for weir.
func classify(err error) error {
	for _, m := range meanings {
		if strings.Contains(err.Error(), m.text) {
			return &stateError{m.kind, err}
		}
	}
	if isSplit(err) || isForbidden(err) {
		return &keyError{err}
	}
	return err
}

// isSplit reports whether a call was refused because its keys may be on two nodes.
func isSplit(err error) bool { return begins(err, "TRYAGAIN") }

// isForbidden reports whether a call was refused because the user may not use its keys.
func isForbidden(err error) bool { return begins(err, "NOPERM") }

// begins reports whether an error of the server begins with a word. redis.HasErrorPrefix
// allocates, also for nil.
func begins(err error, word string) bool { return err != nil && redis.HasErrorPrefix(err, word) }

// keyError is the refusal of a call whose keys are on the move or forbidden.
type keyError struct{ error }

func (e *keyError) Unwrap() error { return e.error }

// OfOneKey implements the KeyError of package fallback: other keys may be allowed.
func (e *keyError) OfOneKey() bool { return true }

// stateError matches its kind and the server's error.
type stateError struct{ kind, err error }

func (e *stateError) Error() string   { return e.kind.Error() + ": " + e.err.Error() }
func (e *stateError) Unwrap() []error { return []error{e.kind, e.err} }

// OfOneKey implements the KeyError of package fallback: a foreign value under one key is no
// outage.
func (e *stateError) OfOneKey() bool { return errors.Is(e.kind, ErrState) }
