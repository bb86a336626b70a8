package plainstore

import (
	"reflect"

	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// Config configures New.
type Config struct {
	// Client talks to Redis. Required; the store never closes it.
	Client redis.UniversalClient
	// Prefix starts every key, to keep the keys of this application apart. Printable
	// ASCII without braces, at most 64 bytes. Empty: "weir:".
	Prefix string
}

// Store counts fixed windows in Redis. It is safe for concurrent use, by any number of
// processes.
type Store struct {
	client redis.UniversalClient
	prefix string
}

// New returns a Store, or a *store.ConfigError for the wrong field. It does no I/O.
func New(cfg Config) (*Store, error) {
	if cfg.Client == nil || reflect.ValueOf(cfg.Client).IsZero() {
		return nil, &store.ConfigError{Field: "plainstore.Config.Client", Want: "a go-redis client", Got: "nil"}
	}
	prefix, err := rediskey.Prefix("plainstore.Config.Prefix", cfg.Prefix)
	if err != nil {
		return nil, err
	}
	return &Store{client: cfg.Client, prefix: prefix}, nil
}
