// Package localstore keeps limits in the memory of one process, with the same
// answers as package redisstore: golang.org/x/time/rate for GCRA that is booked
// ahead, code of its own for windows and for what is taken at once. It is for
// programs of one process, for tests, and for what happens while Redis is away.
//
// It runs nothing in the background. A key takes memory until its state has
// lapsed, that is, until it is as if never used; lapsed keys are forgotten while
// new ones come. A key with up to 8 limits of which none is a sliding window, and of
// which no call waits or may be cancelled, takes 75 to 95 bytes with its text, if that
// is no longer than 37 bytes, and about 30 for each further limit; nothing of it
// concerns the garbage collector. Others take about 450 bytes and their text, and
// 200 for each further limit; once calls have waited, up to 600 more, and 130 for
// each further limit. A sliding window adds up to 40 for
// each call within its period. A Store takes 120 KB by itself, and up to 256 KB for
// keys that are asked for again and again: under a GCRA limit whose units take
// whole microseconds these are decided without a lock.
package localstore

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/internal/watchers"
	"github.com/goweir/weir/store"
)

// DefaultMaxKeys is the MaxKeys of a Config that sets none: half a gigabyte, a
// hundred megabytes where calls take one limit and never wait.
const DefaultMaxKeys = 1 << 20

// ErrFull is returned for a new key when MaxKeys keys are in use. A key in use
// is never dropped to make room, since it would come back with a fresh burst.
var ErrFull = errors.New("localstore: as many keys are in use as may be kept")

// Config is what New makes a Store from. Its zero value is ready to use.
type Config struct {
	// MaxKeys is the most keys kept at once. 0: DefaultMaxKeys.
	//
	// Whoever can invent keys can fill the store: by sending API keys or other
	// headers that nobody checks before they are counted by, or by calling from
	// many addresses. Then calls with keys that are not in the store fail with
	// ErrFull. To a limiter that is a failure of the store like any other
	// (weir.ErrStore): a middleware that fails open lets such calls pass,
	// uncounted, one that fails closed turns them away. Keys in the store are
	// counted as ever, and there is room again when some have lapsed. So count
	// by what is authenticated, and by one key for everybody else.
	//
	// Lapsed keys make room for new ones, but when the store is full a call may
	// fail before they are found.
	MaxKeys int
}

// Store keeps limits in memory. It is safe for concurrent use.
type Store struct {
	shards
	start    time.Time
	epoch    int64        // start in ns since the Unix epoch
	tags     atomic.Int64 // of receipts, see exact.Queue
	watchers watchers.Set
}

var (
	_ store.Store    = (*Store)(nil)
	_ store.Canceler = (*Store)(nil)
	_ store.Settler  = (*Store)(nil)
	_ store.Resetter = (*Store)(nil)
	_ store.Braker   = (*Store)(nil)
	_ store.Holder   = (*Store)(nil)
	_ store.Preparer = (*Store)(nil)
)

// New returns a Store, or a *store.ConfigError that names the wrong field. Its
// clock is the process's monotonic one, set by the wall clock now: when that is
// corrected later, aligned windows stay where they are.
func New(cfg Config) (*Store, error) {
	if cfg.MaxKeys < 0 {
		return nil, &store.ConfigError{Field: "localstore.Config.MaxKeys", Want: "0 or more", Got: strconv.Itoa(cfg.MaxKeys)}
	}
	if cfg.MaxKeys == 0 {
		cfg.MaxKeys = DefaultMaxKeys
	}
	s := &Store{start: time.Now()}
	s.epoch = max(s.start.UnixNano(), 0) // A clock that was never set may be before the epoch.
	s.init(cfg.MaxKeys)
	return s, nil
}

// now returns the time in whole microseconds since the Unix epoch. Under the lock of a
// key it never goes back.
func (s *Store) now() int64 { return (s.epoch + int64(time.Since(s.start))) / 1000 }

// Reset implements [store.Resetter]. It forgets the key's leases too.
func (s *Store) Reset(ctx context.Context, scope, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.forget(s.id(scope, key))
	return nil
}

// Keys returns the number of keys, with lapsed ones that are not forgotten yet.
func (s *Store) Keys() int { return int(s.count.Load()) }
