package weir

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/goweir/weir/store"
)

// Store decides and remembers: see package store for its contract, and below
// store/ for implementations.
type Store = store.Store

const (
	defaultMaxPause = 15 * time.Minute
	defaultLease    = 30 * time.Second
	// minLease leaves a heartbeat a third of a second, enough for a slow store.
	minLease = time.Second
)

// Config configures a Limiter; see [New].
//
// A Limiter writes two warnings to slog.Default, each once and without a key: a call
// has waited for over a minute; this process held all calls in flight of a key for longer
// than Lease, as if response bodies were never closed. A handler with a level above
// slog.LevelWarn leaves them out.
type Config struct {
	// Store decides. Required.
	Store Store
	// Limits hold for every key, together: a call is admitted by all of them
	// or charged on none. Required, at least one, and no two of the same
	// policy name (see [Limit.Policy]).
	Limits []Limit
	// Name keeps this limiter's keys apart from those of other limiters on the
	// same store, and is the Scope in events: "login", "search api". Required, 1 to
	// 64 bytes of printable ASCII. Limiters of one name on one store are one limiter:
	// processes and releases that share limits give it the same name. Limiters with
	// different limits need different names.
	Name string
	// MaxWait is the maximum time that a call waits for its slot. 0: the call's
	// context alone bounds it.
	MaxWait time.Duration
	// MaxWaiters is the maximum number of calls of this Limiter that wait at once,
	// over all keys; further ones are refused with ReasonTooManyWaiters and without
	// asking the store. A call counts from its start until it is admitted, so also
	// while the store is asked. 0: no bound.
	MaxWaiters int
	// MaxPause is the maximum time for which an upstream can pause a key or slow it down,
	// counted from the last change: at most MaxPeriod/4. 0: 15 minutes.
	MaxPause time.Duration
	// Reserve is the share of each limit, in percent, that calls of the background
	// class leave to the others (see [InBackground]): 0 to 99. It is rounded up to
	// whole units, and to at most all but one: a limit of one unit reserves
	// nothing. With window algorithms, the reserved share may go unused. 0: 10 % of
	// a GCRA limit's burst, which does not slow background calls down, and nothing
	// of a window. Rate headers count reserved units as left, also for such a call.
	Reserve int
	// InFlight is the maximum number of calls of a key in flight at once, in all
	// processes together. Such calls are made with Acquire, TryAcquire, Do or a
	// Transport alone. It needs a Store that is a [store.Holder]. 0: no bound.
	InFlight int64
	// Lease is how long a call counts as in flight after its process died. While
	// the process lives, calls may take as long as they like: their leases are
	// renewed three times in that time. 1 s to MaxLease, in whole microseconds;
	// 0: 30 s. It must be 0 without InFlight.
	Lease time.Duration
	// Hook observes the limiter's events, see [Event]. Nil: events go nowhere.
	Hook Hook
}

// check reports the first wrong field.
func (c *Config) check() error {
	wrong := func(field, want, got string) error {
		return &store.ConfigError{Field: "Config." + field, Want: want, Got: got}
	}
	if err := store.CheckStore("Config.Store", c.Store); err != nil {
		return err
	}
	_, holds := c.Store.(store.Holder)
	switch {
	case c.MaxWait < 0:
		return wrong("MaxWait", "0 or more", c.MaxWait.String())
	case c.MaxWaiters < 0:
		return wrong("MaxWaiters", "0 or more", strconv.Itoa(c.MaxWaiters))
	case c.Reserve < 0 || c.Reserve > 99:
		return wrong("Reserve", "0 to 99", strconv.Itoa(c.Reserve))
	case c.MaxPause < 0 || c.MaxPause > store.MaxPeriod/4:
		return wrong("MaxPause", "0 to 12.5 years", c.MaxPause.String())
	case c.Name == "" || store.CheckName("", c.Name) != nil:
		return wrong("Name", "a name of 1 to 64 bytes of printable ASCII, which no limiter with other limits has on the same store", strconv.QuoteToASCII(c.Name))
	case c.InFlight < 0 || c.InFlight > store.MaxUnits:
		return wrong("InFlight", "0 to 2^50", strconv.FormatInt(c.InFlight, 10))
	case c.InFlight > 0 && !holds:
		return wrong("InFlight", "0 with a store that is no store.Holder", strconv.FormatInt(c.InFlight, 10))
	case c.InFlight == 0 && c.Lease != 0:
		return wrong("Lease", "0 without InFlight", c.Lease.String())
	case c.Lease != 0 && (c.Lease < minLease || c.Lease > store.MaxLease || c.Lease%time.Microsecond != 0):
		return wrong("Lease", "0, or whole microseconds from 1s to 1h", c.Lease.String())
	}
	return store.CheckLimits("Config.Limits", c.Limits)
}

// withDefaults returns the configuration with its defaults, and with limits of its own.
func (c Config) withDefaults() Config {
	c.MaxPause = cmp.Or(c.MaxPause, defaultMaxPause)
	if c.InFlight > 0 {
		c.Lease = cmp.Or(c.Lease, defaultLease)
	}
	c.Limits = slices.Clone(c.Limits)
	return c
}
