package store

import (
	"errors"
	"math"
	"time"
)

// Never is the RetryAfter of a request that no waiting can ever admit: its cost
// is over a limit's capacity.
const Never = time.Duration(math.MaxInt64)

var (
	// ErrConfig is matched by every *[ConfigError].
	ErrConfig = errors.New("weir: invalid configuration")
	// ErrUnsupported is returned when a store lacks an optional ability.
	ErrUnsupported = errors.ErrUnsupported
)

// ConfigError names the wrong field of a configuration or a request. It matches
// [ErrConfig].
type ConfigError struct {
	Field string // as it is written in Go, for example "Limit.Rate"
	Want  string // the expected values
	Got   string // the value found
}

func (e *ConfigError) Error() string {
	return "weir: " + e.Field + ": want " + e.Want + ", got " + e.Got
}

// Is reports whether target is [ErrConfig].
func (e *ConfigError) Is(target error) bool { return target == ErrConfig }
