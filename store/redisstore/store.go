package redisstore

import (
	"hash/maphash"
	"reflect"
	"strconv"

	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/watch"
	"github.com/redis/go-redis/v9"
)

// Config is the configuration of New and Open.
type Config struct {
	// Client talks to Redis. New requires it, and the Store never closes it. Open makes
	// a client of its own: leave it nil.
	Client redis.UniversalClient
	// Prefix starts every key, to keep this application's keys apart. Printable
	// ASCII without braces, at most 64 bytes. Empty: "weir:".
	Prefix string
	// PassTime makes every call bring this process's time, for servers that refuse
	// TIME in scripts. The clocks of all processes then have to agree: a clock that is
	// ahead takes units of later calls. False: the server's time.
	PassTime bool
	// RoundTrips is the maximum number of shared round trips under way to each server,
	// 0 to 256. More shorten the wait for one on slow networks. Fewer cost the server and the
	// process less. 0: 3, and on a network one for each 60 µs of the shortest round trip of
	// the last seconds, up to three quarters of the client's connections.
	RoundTrips int

	// now is a test's clock, in microseconds since the Unix epoch.
	now func() int64
}

// Store keeps limits in Redis. It is safe for concurrent use, by any number of
// processes.
type Store struct {
	server
	owned   bool // Open made the client.
	limits  knownLimits
	queues  queues
	watches watch.Watches
}

// New returns a Store, or a *store.ConfigError for the wrong field. It does no I/O.
func New(cfg Config) (*Store, error) {
	if cfg.Client == nil || reflect.ValueOf(cfg.Client).IsZero() {
		return nil, &store.ConfigError{Field: "redisstore.Config.Client", Want: "a go-redis client", Got: "nil"}
	}
	prefix, err := rediskey.Prefix("redisstore.Config.Prefix", cfg.Prefix)
	if err != nil {
		return nil, err
	}
	if cfg.RoundTrips < 0 || cfg.RoundTrips > maxRoundTrips {
		return nil, &store.ConfigError{Field: "redisstore.Config.RoundTrips", Want: "0 to " + strconv.Itoa(maxRoundTrips), Got: strconv.Itoa(cfg.RoundTrips)}
	}
	s := &Store{
		server:  server{client: cfg.Client, prefix: prefix, now: cfg.now, passTime: cfg.PassTime, turn: make(chan struct{}, 1)},
		watches: watch.Watches{Client: cfg.Client, Channel: prefix + "brakes"},
	}
	s.queues.open(&s.server, cfg.RoundTrips)
	s.slotted.Store(s.queues.server != nil)
	s.tags.Store(maphash.String(maphash.MakeSeed(), ""))
	return s, nil
}

// Client returns the client: that of New's caller, or the one of Open, which Close closes.
func (s *Store) Client() redis.UniversalClient { return s.client }

// Prefix returns the start of every key, "weir:" if the Config had none.
func (s *Store) Prefix() string { return s.prefix }

// Close ends the Store: calls fail with [ErrClosed] from then on, and calls under way
// fail soon. It closes the client of a Store made by [Open]. The client given to [New] is
// the caller's and stays open. Further calls of Close do nothing.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	s.watches.Close()
	if !s.owned {
		return nil
	}
	return s.client.Close()
}
