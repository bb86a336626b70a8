// Package localstore keeps limits in the memory of one process, with the same answers
// as package redisstore. It is for programs of one process, for tests, and for outages
// of Redis.
//
// It runs nothing in the background. A key takes memory until it is as if never used. Calls
// for new keys forget such lapsed keys. Bytes for each key, with a text of 10:
//
//	small    90, and 30 for each further limit; outside the garbage collector
//	other    600, and 200 to 400 for each further limit; up to 400 more for each
//	         GCRA limit whose calls may be cancelled; 16 to 40 for each call within
//	         the period of a sliding window
//
// A key is small while it has up to 8 limits, no sliding window, no calls that wait or may be
// cancelled, no lease and no brake. A text of more than 37 bytes adds its length, up to 120.
// A longer text is kept as a hash.
//
// A Store takes 120 KB by itself, and up to 256 KB for keys in constant use. It decides calls
// for these without a lock, if they are under a GCRA limit whose units take whole
// microseconds.
package localstore

import (
	"crypto/rand"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/internal/watchers"
	"github.com/goweir/weir/store"
)

// DefaultMaxKeys is the MaxKeys of a Config that sets none. As many keys take about a
// gigabyte, or a hundred megabytes if all are small.
const DefaultMaxKeys = 1 << 20

// ErrFull is returned for a new key when MaxKeys keys are in use. A key in use
// is never dropped to make room, since it would come back with a fresh burst.
var ErrFull = errors.New("localstore: as many keys are in use as may be kept")

// Config configures New. The zero value is ready to use.
type Config struct {
	// MaxKeys is the maximum number of keys. 0: DefaultMaxKeys.
	//
	// A caller that can invent keys can fill the store: with API keys or other headers that
	// count before they are checked, or from many addresses. Then calls with new keys fail
	// with ErrFull. A limiter treats that as any failure of the store (weir.ErrStore): a
	// middleware that fails open lets such calls pass uncounted, and one that fails closed
	// refuses them. Known keys still count, and lapsed ones make room. So count by an
	// authenticated identity, and all other calls by one key.
	//
	// A full store may refuse a call before it finds a lapsed key.
	MaxKeys int
}

// Store keeps limits in memory. It is safe for concurrent use. The zero Store is full.
type Store struct {
	shards
	start    time.Time
	epoch    int64        // start in ns since the Unix epoch
	tags     atomic.Int64 // of receipts, see exact.Queue
	watchers watchers.Set
}

// New returns a Store, or a *store.ConfigError that names the wrong field. Its clock is the
// process's monotonic one, set by the wall clock now. Later corrections of the wall clock do
// not move aligned windows.
func New(cfg Config) (*Store, error) {
	if cfg.MaxKeys < 0 {
		return nil, &store.ConfigError{Field: "localstore.Config.MaxKeys", Want: "0 or more", Got: strconv.Itoa(cfg.MaxKeys)}
	}
	if cfg.MaxKeys == 0 {
		cfg.MaxKeys = DefaultMaxKeys
	}
	s := &Store{start: time.Now()}
	s.epoch = max(s.start.UnixNano(), 0) // A clock that was never set may be before the epoch.
	s.max = int64(cfg.MaxKeys)
	rand.Read(s.secret[:])
	return s, nil
}

// now returns the time in whole microseconds since the Unix epoch. Under the lock of a
// key it never goes back.
func (s *Store) now() int64 { return (s.epoch + int64(time.Since(s.start))) / 1000 }

// Keys returns the number of keys, including lapsed ones that are not forgotten yet.
func (s *Store) Keys() int { return int(s.count.Load()) }
