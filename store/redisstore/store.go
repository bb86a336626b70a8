package redisstore

import (
	"context"
	"errors"
	"hash/maphash"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// Config is what New makes a Store from.
type Config struct {
	// Client talks to Redis. Required; it is never closed by the store.
	Client redis.UniversalClient
	// Prefix starts every key, to keep this application's keys apart. Printable
	// ASCII without braces, at most 64 bytes. Empty: "weir:".
	Prefix string
	// WithoutScripts decides without Lua, for servers and proxies that can't
	// run it. It can do less: up to 8 limits of one key, FixedWindow only, no
	// waiting, and nothing that can be given back or settled; anything else fails
	// with ErrNeedsScripts. Windows are counted in milliseconds, rounded up. Where
	// the server has no INCREX, a refused call is counted for the moment until it
	// is taken back.
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
	// slotted: the server refuses keys of different slots. A cluster's client
	// says so; of what else looks like one server the first answer does.
	slotted atomic.Bool
	terms   knownTerms
	rules   knownRules
	shared  lines

	denials denials
	watches watches
}

var (
	_ store.Store    = (*Store)(nil)
	_ store.Canceler = (*Store)(nil)
	_ store.Settler  = (*Store)(nil)
	_ store.Resetter = (*Store)(nil)
	_ store.Braker   = (*Store)(nil)
	_ store.Holder   = (*Store)(nil)
	_ store.Starter  = (*Store)(nil)
)

// New returns a Store, or a *store.ConfigError that names the wrong field. It
// does no I/O.
func New(cfg Config) (*Store, error) {
	if cfg.Client == nil {
		return nil, &store.ConfigError{Field: "redisstore.Config.Client", Want: "a go-redis client", Got: "nil"}
	}
	if cfg.Prefix == "" {
		cfg.Prefix = "weir:"
	}
	if len(cfg.Prefix) > 64 || strings.ContainsFunc(cfg.Prefix, func(r rune) bool { return r < ' ' || r > '~' || r == '{' || r == '}' }) {
		return nil, &store.ConfigError{
			Field: "redisstore.Config.Prefix", Want: "at most 64 bytes of printable ASCII without braces", Got: strconv.QuoteToASCII(cfg.Prefix),
		}
	}
	s := &Store{client: cfg.Client, prefix: cfg.Prefix, now: cfg.now}
	_, s.ring = cfg.Client.(*redis.Ring)
	_, cluster := cfg.Client.(*redis.ClusterClient)
	s.slotted.Store(cluster)
	s.shared.of(s)
	s.denials.seed = maphash.MakeSeed()
	if cfg.WithoutScripts {
		s.plain = &plain{client: cfg.Client}
	}
	return s, nil
}

// Take implements [store.Store]: one EVALSHA, whatever the number of limits. For
// charges of several keys on a cluster or a ring see Levels in the package's
// documentation.
func (s *Store) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if err := req.Validate(); err != nil {
		return store.Decision{}, err
	}
	if s.plain != nil {
		return s.plain.take(ctx, s, &req)
	}
	if shared(&req) {
		return s.takeShared(ctx, &req)
	}
	d, err := s.take(ctx, &req)
	s.denials.charged(req.Charges, d.Allowed)
	return d, err
}

// take is Take for what does not go in flights.
func (s *Store) take(ctx context.Context, req *store.Request) (store.Decision, error) {
	c := s.newCall(req, modeOf(req))
	if len(c.groups) > 1 && s.apart(ctx, c) {
		return s.takeInOrder(ctx, req, c)
	}
	v, outcomes, values, err := s.ask(ctx, c)
	if len(c.groups) > 1 && errors.Is(err, ErrCrossSlot) {
		s.slotted.Store(true)
		return s.takeInOrder(ctx, req, c)
	}
	if err != nil {
		return store.Decision{}, err
	}
	d := exact.Decide(req, v, outcomes)
	if len(values) == 2*len(c.groups) && d.Allowed {
		charges := append([]store.Charge(nil), req.Charges...)
		d.Receipt = &receipt{call: c, charges: charges, values: values, slot: v.Slot}
	}
	return d, nil
}

// modeOf returns what the script is to do with a request.
func modeOf(req *store.Request) string {
	switch {
	case req.NeverFits() >= 0 || req.Free():
		return "peek"
	case req.Cancelable:
		return "keep"
	}
	return "take"
}

// ask has the script decide a call.
func (s *Store) ask(ctx context.Context, c *call) (v exact.Verdict, outcomes []exact.Outcome, values []string, err error) {
	reply, err := s.run(ctx, c)
	if err != nil {
		return
	}
	head, values, err := split(reply)
	if err != nil {
		return
	}
	v, outcomes, err = parse(head, c.order, c.groups, c.held != "")
	if c.held != "" && c.mode() == "peek" {
		v.Allowed, v.Slot = v.Full == 0, v.Now // Nothing is charged, so nothing is waited for.
	}
	return
}

// Reset implements [store.Resetter]. It forgets the key's leases too.
func (s *Store) Reset(ctx context.Context, scope, key string) error {
	state, log := s.keys(scope, key)
	args := []any{"del", state, log, s.heldKey(scope, key)}
	if s.plain != nil {
		for i := range plainLimits {
			args = append(args, s.plainKey(scope, key, i))
		}
	}
	defer s.denials.forget(scope, key)
	err := s.client.Process(ctx, newOnce(ctx, args...))
	if isSplit(err) {
		err = s.forget(ctx, args[1:])
	}
	if err != nil {
		s.denials.failedFor(ctx, err)
	}
	return classify(err)
}
