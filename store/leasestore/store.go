package leasestore

import (
	"cmp"
	"hash/maphash"
	"strconv"
	"sync"
	"time"

	"github.com/goweir/weir/store"
)

// Defaults and bounds of a Config.
const (
	DefaultUnits = 4096
	DefaultFor   = time.Second

	mostUnits = 1 << 16
	longest   = 10 * time.Second
	// mostKeys bounds the busy keys. Calls of further keys are decided one by one.
	mostKeys = 1 << 16
)

// Config configures New. Only Store is required.
type Config struct {
	// Store decides and counts. Required: a [store.Settler], which takes unused units
	// back: a redisstore, or the fallback around it. It is never closed.
	Store store.Store
	// Units is the maximum number of units that one call takes of a key, 1 to 65536. A
	// call never takes more than a quarter of the remaining units. 1: takes nothing
	// ahead. 0: DefaultUnits.
	Units int64
	// For is the time for which units may be used after they were taken: 1 ms to 10 s.
	// A reset by another process takes effect here within For. So does a pause whose
	// message this process misses. 0: DefaultFor.
	For time.Duration
}

func (cfg *Config) check() error {
	if err := store.CheckStore("leasestore.Config.Store", cfg.Store); err != nil {
		return err
	}
	settler, _ := cfg.Store.(store.Settler)
	switch {
	case settler == nil:
		return invalid("Store", "a store that is a store.Settler", "one that is not")
	case cfg.Units < 0 || cfg.Units > mostUnits:
		return invalid("Units", "0 to "+strconv.Itoa(mostUnits), strconv.FormatInt(cfg.Units, 10))
	case cfg.For != 0 && (cfg.For < time.Millisecond || cfg.For > longest):
		return invalid("For", "0, or 1ms to "+longest.String(), cfg.For.String())
	}
	return nil
}

func invalid(field, want, got string) error {
	return &store.ConfigError{Field: "leasestore.Config." + field, Want: want, Got: got}
}

// Store takes units ahead of the store behind it. It is safe for concurrent use. Without
// Close its units stay unused until they lapse.
type Store struct {
	cfg    Config
	start  time.Time
	shards [64]shard
	room   int            // of busy keys in each shard
	giving sync.WaitGroup // calls that give units back or have units under way

	heeding sync.Once
	watch   store.Watch // nil before heed, and without brakes
}

// New returns a Store, or a *store.ConfigError that names the wrong field. It
// does no I/O.
func New(cfg Config) (*Store, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.Units = cmp.Or(cfg.Units, DefaultUnits)
	cfg.For = cmp.Or(cfg.For, DefaultFor)
	return &Store{cfg: cfg, start: time.Now(), room: mostKeys / len(Store{}.shards)}, nil
}

func (s *Store) now() time.Duration { return time.Since(s.start) }

// shard holds some of the leases.
type shard struct {
	mu     sync.Mutex
	leases map[uint64]*lease // by the hash of the key; keys with equal hashes share one
	closed bool
}

func (s *Store) shard(hash uint64) *shard { return &s.shards[hash%uint64(len(s.shards))] }

// seed is that of all hashes of the process.
var seed = maphash.MakeSeed()

func hashOf(k id) uint64 { return maphash.String(seed, k.key) ^ scopeHash(k.scope) }

// scopeHash returns the scope's part of a key's hash.
func scopeHash(scope string) uint64 { return 3 * maphash.String(seed, scope) }
