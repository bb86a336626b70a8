package redisstore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goweir/weir/store"
)

// ErrCrossSlot is returned when charges of different keys live in different slots
// of a cluster, on shards of a ring or servers behind a proxy, and the request may
// wait for a slot or asks for a lease. Take them without, or one by one: the
// narrowest first, and cancel what was granted when a later one is refused. It
// matches store.ErrUnsupported.
var ErrCrossSlot = fmt.Errorf("redisstore: charges of different keys live in different slots: %w", store.ErrUnsupported)

// ErrNeedsScripts is returned with Config.WithoutScripts for what plain
// commands can't do. It matches store.ErrUnsupported.
var ErrNeedsScripts = fmt.Errorf("redisstore: needs Lua scripts: %w", store.ErrUnsupported)

// ErrState is returned when what is stored under a key is not weir's: another
// type, another program's value, or a damaged one. Reset the key to go on.
var ErrState = errors.New("redisstore: the key holds something else")

// classify gives the server's answers that mean something to weir an error of
// their own.
func classify(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	switch {
	case strings.Contains(text, "WEIRSTATE"), strings.Contains(text, "WRONGTYPE"), strings.Contains(text, "not an integer"):
		return &stateError{kind: ErrState, err: err}
	case strings.Contains(text, "CROSSSLOT"):
		return &stateError{kind: ErrCrossSlot, err: err}
	case isSplit(err):
		return &splitError{err}
	}
	return err
}

// stateError matches its kind and the server's error.
type stateError struct{ kind, err error }

func (e *stateError) Error() string   { return e.kind.Error() + ": " + e.err.Error() }
func (e *stateError) Unwrap() []error { return []error{e.kind, e.err} }

// OfOneKey implements the KeyError of package fallback: what is stored under a
// key is no reason to give up a server that answers for all others.
func (e *stateError) OfOneKey() bool { return e.kind == ErrState }
