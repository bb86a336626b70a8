package leasestore

import (
	"strconv"
	"time"

	"github.com/goweir/weir/store"
)

// What the zero values of a Config mean, and bounds.
const (
	DefaultUnits   = 4096
	DefaultFor     = time.Second
	DefaultMaxKeys = 1 << 16

	mostUnits = 1 << 16
	longest   = 10 * time.Second
)

// Config is what New makes a Store from. Only Store is required.
type Config struct {
	// Store decides, and is charged. Required: a [store.Settler], to which unused
	// units are given back. It is never closed.
	Store store.Store
	// Units is the most that a call takes of a key, 1 to 65536, and never more
	// than a quarter of what remains. 1 takes nothing ahead. 0: DefaultUnits.
	Units int64
	// For is how long units may be used after they were taken: 1 ms to 10 s. A
	// pause that this process does not hear of, and a reset by another one, hold
	// here after that time at the latest. 0: DefaultFor.
	For time.Duration
	// MaxKeys is the most keys that are looked after at once; calls for others
	// are decided one by one. 0: DefaultMaxKeys.
	MaxKeys int
}

func (cfg *Config) check() error {
	settler, _ := cfg.Store.(store.Settler)
	switch {
	case cfg.Store == nil:
		return invalid("Store", "a store", "nil")
	case settler == nil:
		return invalid("Store", "a store that is a store.Settler", "one that is not")
	case cfg.Units < 0 || cfg.Units > mostUnits:
		return invalid("Units", "0 to "+strconv.Itoa(mostUnits), strconv.FormatInt(cfg.Units, 10))
	case cfg.For != 0 && (cfg.For < time.Millisecond || cfg.For > longest):
		return invalid("For", "0, or 1ms to "+longest.String(), cfg.For.String())
	case cfg.MaxKeys < 0:
		return invalid("MaxKeys", "0 or more", strconv.Itoa(cfg.MaxKeys))
	}
	return nil
}

func (cfg *Config) defaults() {
	if cfg.Units == 0 {
		cfg.Units = DefaultUnits
	}
	if cfg.For == 0 {
		cfg.For = DefaultFor
	}
	if cfg.MaxKeys == 0 {
		cfg.MaxKeys = DefaultMaxKeys
	}
}

func invalid(field, want, got string) error {
	return &store.ConfigError{Field: "leasestore.Config." + field, Want: want, Got: got}
}
