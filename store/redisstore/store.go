package redisstore

import (
	"context"
	"hash/maphash"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/deny"
	"github.com/goweir/weir/store/redisstore/internal/script"
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
	// 0 to 256. More shorten the wait for a round trip on slow networks. Fewer make larger
	// batches, which cost the server and the process less. Half of them may have the same
	// key. 0: 3, or the number of the client's connections if that is less, and on a network
	// one for each 60 µs of the shortest round trip of some seconds, up to three quarters of
	// the connections.
	RoundTrips int

	// now is a test's clock, in microseconds since the Unix epoch.
	now func() int64
}

// Store keeps limits in Redis. It is safe for concurrent use, by any number of
// processes.
type Store struct {
	client   redis.UniversalClient
	prefix   string
	now      func() int64
	passTime bool
	ring     bool
	cluster  bool
	owned    bool // Open made the client.
	closed   atomic.Bool
	// slotted: the server refuses keys of different slots in one call.
	slotted atomic.Bool
	// restores: the server knows the script of Restore, unless it started anew.
	restores atomic.Bool

	limits  knownLimits
	queues  queues
	denials *deny.Table[*script.Limits, *answer]
	watches watches
	tags    atomic.Uint64
}

var (
	_ store.Store    = (*Store)(nil)
	_ store.Canceler = (*Store)(nil)
	_ store.Settler  = (*Store)(nil)
	_ store.Resetter = (*Store)(nil)
	_ store.Braker   = (*Store)(nil)
	_ store.Holder   = (*Store)(nil)
	_ store.Starter  = (*Store)(nil)
	_ store.Restorer = (*Store)(nil)
)

// New returns a Store, or a *store.ConfigError that names the wrong field. It
// does no I/O.
func New(cfg Config) (*Store, error) {
	if cfg.Client == nil {
		return nil, &store.ConfigError{Field: "redisstore.Config.Client", Want: "a go-redis client", Got: "nil"}
	}
	prefix, err := rediskey.Prefix("redisstore.Config.Prefix", cfg.Prefix)
	if err != nil {
		return nil, err
	}
	if cfg.RoundTrips < 0 || cfg.RoundTrips > maxRoundTrips {
		return nil, &store.ConfigError{Field: "redisstore.Config.RoundTrips", Want: "0 to " + strconv.Itoa(maxRoundTrips), Got: strconv.Itoa(cfg.RoundTrips)}
	}
	s := &Store{client: cfg.Client, prefix: prefix, now: cfg.now, passTime: cfg.PassTime, denials: deny.New[*script.Limits, *answer]()}
	_, s.ring = cfg.Client.(*redis.Ring)
	_, s.cluster = cfg.Client.(*redis.ClusterClient)
	s.slotted.Store(s.ring || s.cluster)
	s.queues.config.RoundTrips = cfg.RoundTrips
	s.queues.open(s)
	s.tags.Store(maphash.String(maphash.MakeSeed(), ""))
	return s, nil
}

// tag returns a number that tells a key's state from one after a Reset.
func (s *Store) tag() int64 { return int64(s.tags.Add(1)&(1<<32-1)) + 1 }

// Take implements [store.Store]: one EVALSHA, whatever the number of limits. For
// charges of several keys on a cluster or a ring see Levels in the package's
// documentation.
func (s *Store) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if err := req.Validate(); err != nil {
		return store.Decision{}, err
	}
	if combines(&req) {
		return s.takeTogether(ctx, &req)
	}
	d, err := s.takeAlone(ctx, &req)
	for i := range req.Charges {
		c := &req.Charges[i]
		if d.Allowed || len(req.Charges) > 1 {
			s.denials.Forget(c.Scope, c.Key)
		}
	}
	return d, err
}

// Reset implements [store.Resetter]. It forgets the key's leases too.
func (s *Store) Reset(ctx context.Context, scope, key string) error {
	state := rediskey.State(s.prefix, scope, key)
	defer s.denials.Forget(scope, key)
	_, err := s.run(ctx, &script.Reset, script.ResetArgs(state, rediskey.Log(state), rediskey.Held(state), s.clock()))
	if isSplit(err) {
		// A slot on the move: each node forgets the keys that it has.
		for _, name := range []string{state, rediskey.Log(state), rediskey.Held(state)} {
			if _, err = s.send(ctx, s.client, "del", name); err != nil {
				break
			}
		}
	}
	if err != nil {
		s.lost(err)
	}
	return classify(err)
}

// began is the start of this process, about.
var began = time.Now()

// startOfTests keeps a test's clock, in µs, within a time.Duration.
const startOfTests = 946684800_000_000

// elapsed is the clock of the store, which only counts.
func (s *Store) elapsed() time.Duration {
	if s.now != nil {
		return time.Duration(s.now()-startOfTests) * time.Microsecond
	}
	return time.Since(began)
}
