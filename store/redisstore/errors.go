package redisstore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// ErrCrossSlot is returned on a cluster, on a ring or behind a proxy with shards, if the
// charges are of several keys, and the request may wait or asks for a lease. Take such
// charges one by one, the narrowest first, and cancel them when a later one is refused. It
// matches store.ErrUnsupported.
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
	text := err.Error()
	for _, m := range meanings {
		if strings.Contains(text, m.text) {
			return &meaning{m.kind.Error() + ": " + text, []error{m.kind, err}, errors.Is(m.kind, ErrState)}
		}
	}
	if isSplit(err) || isForbidden(err) {
		return &meaning{text, []error{err}, true}
	}
	if before, _, quotes := strings.Cut(text, ", with args beginning with"); quotes {
		return &meaning{before, []error{err}, false} // A key is among the arguments.
	}
	return err
}

// meaning is an error of the server that has a meaning for weir.
type meaning struct {
	text     string
	errs     []error
	ofOneKey bool
}

func (e *meaning) Error() string   { return e.text }
func (e *meaning) Unwrap() []error { return e.errs }

// OfOneKey implements the KeyError of package fallback. A foreign value under one key, or a
// key that is forbidden or on the move, is no outage.
func (e *meaning) OfOneKey() bool { return e.ofOneKey }

// isSplit reports whether a call was refused because its keys may be on two nodes.
func isSplit(err error) bool { return begins(err, "TRYAGAIN") }

// isForbidden reports whether a call was refused because the user may not use its keys.
func isForbidden(err error) bool { return begins(err, "NOPERM") }

// begins reports whether an error of the server begins with a word. redis.HasErrorPrefix
// allocates, also for nil.
func begins(err error, word string) bool { return err != nil && redis.HasErrorPrefix(err, word) }
