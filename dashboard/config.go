package dashboard

import (
	"strconv"
	"time"

	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// Config configures a Dashboard; see [New]. Its zero value is valid: the page then shows
// the events of this process alone.
type Config struct {
	// Client reads weir's state in Redis. The Dashboard never closes it, and needs no
	// script: SCAN, GETRANGE, LRANGE, ZCARD, ZRANGE, TIME and PING are enough. Changes need the
	// commands of a redisstore too. Nil: the page shows no state of Redis.
	Client redis.UniversalClient
	// Prefix is that of redisstore.Config. Empty: "weir:".
	Prefix string
	// ShowKeys shows keys as they are, also personal data such as user names and IP
	// addresses. False: the page shows the first ten hexadecimal digits of a key's
	// SHA-256. Such a hash keeps keys out of pictures, but a guessed key can be checked
	// against it.
	ShowKeys bool
	// AllowChanges lets visitors pause, resume and reset keys. It needs a Client.
	// Requests of other sites are refused. False: the page is read-only.
	AllowChanges bool
	// Interval is the time between two updates of the page, and between two readings of
	// Redis: 250 ms to 1 minute. 0: 1 s.
	Interval time.Duration
	// MaxKeys is the maximum number of keys that the page reads, 1 to 1 000 000, at about
	// 1 kB each. The page says if there are more. 0: 10 000.
	MaxKeys int
}

const (
	defaultInterval = time.Second
	minInterval     = 250 * time.Millisecond
	maxInterval     = time.Minute
	defaultMaxKeys  = 10_000
	mostMaxKeys     = 1_000_000
)

// check reports the first wrong field, as a *store.ConfigError.
func (c *Config) check() error {
	wrong := func(field, want, got string) error {
		return &store.ConfigError{Field: "dashboard.Config." + field, Want: want, Got: got}
	}
	switch {
	case c.AllowChanges && c.Client == nil:
		return wrong("AllowChanges", "false without a Client", "true")
	case c.Interval != 0 && (c.Interval < minInterval || c.Interval > maxInterval):
		return wrong("Interval", "0, or 250ms to 1m", c.Interval.String())
	case c.MaxKeys < 0 || c.MaxKeys > mostMaxKeys:
		return wrong("MaxKeys", "0 to 1000000", strconv.Itoa(c.MaxKeys))
	}
	return nil
}
