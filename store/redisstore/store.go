package redisstore

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/exact"
)

// Config is what New makes a Store from.
type Config struct {
	// Client talks to Redis. Required; it is never closed by the store.
	Client redis.UniversalClient
	// Prefix starts every key, to keep this application's keys apart. Printable
	// ASCII without braces, at most 64 bytes. Empty: "weir:".
	Prefix string
	// WithoutScripts decides without Lua, for servers and proxies that can't
	// run it. It can do less: one limit per request, FixedWindow only, no
	// waiting, no cancelling; anything else fails with ErrNeedsScripts. A
	// refused call is counted for the moment until it is taken back.
	WithoutScripts bool

	// now is a test's clock, in microseconds since the Unix epoch.
	now func() int64
}

// Store keeps limits in Redis. It is safe for concurrent use, by any number of
// processes.
type Store struct {
	client redis.UniversalClient
	prefix string
	now    func() int64
	plain  *plain
	ring   bool
}

var (
	_ weir.Store    = (*Store)(nil)
	_ weir.Canceler = (*Store)(nil)
	_ weir.Resetter = (*Store)(nil)
)

// New returns a Store, or a *weir.ConfigError that names the wrong field. It
// does no I/O.
func New(cfg Config) (*Store, error) {
	if cfg.Client == nil {
		return nil, &weir.ConfigError{Field: "redisstore.Config.Client", Want: "a go-redis client", Got: "nil"}
	}
	if cfg.Prefix == "" {
		cfg.Prefix = "weir:"
	}
	if len(cfg.Prefix) > 64 || strings.ContainsFunc(cfg.Prefix, func(r rune) bool { return r < ' ' || r > '~' || r == '{' || r == '}' }) {
		return nil, &weir.ConfigError{
			Field: "redisstore.Config.Prefix", Want: "at most 64 bytes of printable ASCII without braces", Got: strconv.QuoteToASCII(cfg.Prefix),
		}
	}
	s := &Store{client: cfg.Client, prefix: cfg.Prefix, now: cfg.now}
	_, s.ring = cfg.Client.(*redis.Ring)
	if cfg.WithoutScripts {
		s.plain = &plain{client: cfg.Client}
	}
	return s, nil
}

// Take implements [weir.Store]: one EVALSHA, whatever the number of limits.
func (s *Store) Take(ctx context.Context, req weir.Request) (weir.Decision, error) {
	if err := req.Validate(); err != nil {
		return weir.Decision{}, err
	}
	if s.plain != nil {
		return s.plain.take(ctx, s, &req)
	}
	mode := "take"
	switch {
	case req.NeverFits() >= 0 || req.Peek():
		mode = "peek"
	case req.Cancelable:
		mode = "keep"
	}
	c, err := s.newCall(&req, mode)
	if err != nil {
		return weir.Decision{}, err
	}
	reply, err := s.run(ctx, c)
	if err != nil {
		return weir.Decision{}, err
	}
	head, values, err := split(reply)
	if err != nil {
		return weir.Decision{}, err
	}
	v, outcomes, err := parse(head, c.order)
	if err != nil {
		return weir.Decision{}, err
	}
	d := exact.Decide(&req, v, outcomes)
	if len(values) == 2*len(c.groups) && d.Allowed {
		d.Receipt = newReceipt(c, values, v.Slot)
	}
	return d, nil
}

// Reset implements [weir.Resetter].
func (s *Store) Reset(ctx context.Context, scope, key string) error {
	state, log := s.keys(scope, key)
	return classify(s.client.Process(ctx, newOnce(ctx, "del", state, log)))
}

// ErrCrossSlot is returned when charges of different keys, which have to be
// decided together, live in different slots of a cluster or shards of a ring.
// Take them one by one, the narrowest first, and cancel what was granted when a
// later one is refused.
var ErrCrossSlot = errors.New("redisstore: charges of different keys live in different slots")

// ErrNeedsScripts is returned with Config.WithoutScripts for what plain
// commands can't do.
var ErrNeedsScripts = errors.New("redisstore: needs Lua scripts")

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
	case strings.Contains(text, "WEIRSTATE"), strings.Contains(text, "WRONGTYPE"):
		return &stateError{kind: ErrState, err: err}
	case strings.Contains(text, "CROSSSLOT"):
		return &stateError{kind: ErrCrossSlot, err: err}
	}
	return err
}

// stateError matches its kind and the server's error.
type stateError struct{ kind, err error }

func (e *stateError) Error() string   { return e.kind.Error() + ": " + e.err.Error() }
func (e *stateError) Unwrap() []error { return []error{e.kind, e.err} }
