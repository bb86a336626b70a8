package weirtest

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
)

const (
	// defaultArrivals is the MaxArrivals of a ProviderConfig that sets none.
	defaultArrivals = 100_000
	// maxArrivals and maxKeptBody bound what a typing error may take in memory.
	maxArrivals = 100_000_000
	maxKeptBody = 1 << 30
)

// ProviderConfig is what [NewProvider] and [NewServer] make a Provider from.
// Its zero value admits everything and says nothing of limits. All functions
// are called from many goroutines at once.
type ProviderConfig struct {
	// Limits are enforced together, for each key: a request is admitted by all
	// of them or charged on none. The algorithm says how the provider counts:
	// store.GCRA is a token bucket of Burst units, store.SlidingWindow a strict
	// log of arrivals, store.FixedWindow a window that opens at the first unit,
	// store.AlignedWindow one of the calendar. store.SlidingCounter is refused:
	// it is an estimate, and a judge must be exact. No two may have the same
	// policy name. Empty: the rate is not limited.
	Limits []weir.Limit
	// Key says who is counted. Nil: all requests count together.
	Key func(*http.Request) string
	// Cost returns how many units of one of the limits a request takes, 0 or
	// more; 0 takes nothing and fits always. It may read the body if KeepBodies
	// is set. A negative cost is answered with 500 and counts nowhere. Nil: 1
	// unit of each limit.
	Cost func(*http.Request, weir.Limit) int64
	// MaxInFlight is how many requests of one key may be served at once;
	// further ones are refused. A request is being served for its Latency and
	// while Handler runs. 0: no bound.
	MaxInFlight int

	// Status is that of a refusal: 400 to 599. 0: 429. Providers that send
	// others use 403 or 503.
	Status int
	// InFlightStatus is that of a refusal by MaxInFlight: 400 to 599. 0: Status.
	InFlightStatus int
	// RetryAfter is the form in which a refusal says when to come back. The
	// zero value is whole seconds, rounded up. A refusal whose end is not known,
	// as by MaxInFlight or of a cost that never fits, says nothing.
	RetryAfter RetryAfterForm
	// Hook sets further headers of every response, refused or not, after Date and
	// Retry-After and before Handler runs: the rate headers of the provider that
	// the test stands for. Nil: none.
	Hook func(h http.Header, r *http.Request, a Answer)

	// Travel is how long a request takes to arrive, before it is counted. Nil: 0.
	Travel func(*http.Request) time.Duration
	// Latency is how long an admitted request takes until Handler runs. Nil: 0.
	Latency func(*http.Request) time.Duration
	// Handler answers what is admitted. One that panics with
	// http.ErrAbortHandler cuts the connection. Nil: 200 and "ok\n".
	Handler http.Handler

	// KeepBodies is the length in bytes of the longest body that is read before
	// its request is counted, and kept in its Arrival; a longer one is answered
	// with 413 and counts nowhere. 0: bodies are left to Handler.
	KeepBodies int64
	// MaxArrivals is how many Arrivals are kept: when there are more, the oldest
	// are forgotten. 0: 100 000, about 10 MB without keys and bodies.
	MaxArrivals int
}

// validate reports the first field that is wrong, as a *store.ConfigError.
func (c *ProviderConfig) validate() error {
	invalid := func(field, want, got string) error {
		return &store.ConfigError{Field: "ProviderConfig." + field, Want: want, Got: got}
	}
	switch {
	case c.MaxInFlight < 0:
		return invalid("MaxInFlight", "0 or more", strconv.Itoa(c.MaxInFlight))
	case c.Status != 0 && (c.Status < 400 || c.Status > 599):
		return invalid("Status", "0 or 400 to 599", strconv.Itoa(c.Status))
	case c.InFlightStatus != 0 && (c.InFlightStatus < 400 || c.InFlightStatus > 599):
		return invalid("InFlightStatus", "0 or 400 to 599", strconv.Itoa(c.InFlightStatus))
	case c.RetryAfter >= retryAfterForms:
		return invalid("RetryAfter", "one of the five forms", strconv.Itoa(int(c.RetryAfter)))
	case c.KeepBodies < 0 || c.KeepBodies > maxKeptBody:
		return invalid("KeepBodies", "0 to 1 GiB", strconv.FormatInt(c.KeepBodies, 10))
	case c.MaxArrivals < 0 || c.MaxArrivals > maxArrivals:
		return invalid("MaxArrivals", "0 to 100 million", strconv.Itoa(c.MaxArrivals))
	}
	return checkLimits("ProviderConfig.Limits", c.Limits)
}

// defaults returns the config with its zero values replaced, and nothing in it
// that the caller may still change.
func (c ProviderConfig) defaults() ProviderConfig {
	c.Limits = slices.Clone(c.Limits)
	if c.Status == 0 {
		c.Status = http.StatusTooManyRequests
	}
	if c.InFlightStatus == 0 {
		c.InFlightStatus = c.Status
	}
	if c.MaxArrivals == 0 {
		c.MaxArrivals = defaultArrivals
	}
	return c
}

// checkLimits reports the first limit that a Provider can't enforce.
func checkLimits(field string, limits []weir.Limit) error {
	if len(limits) == 0 {
		return nil
	}
	if err := store.CheckLimits(field, limits); err != nil {
		return err
	}
	for i, l := range limits {
		if l.Algorithm == store.SlidingCounter {
			return &store.ConfigError{Field: field + "[" + strconv.Itoa(i) + "].Algorithm", Want: "an algorithm that counts exactly", Got: l.Algorithm.String()}
		}
	}
	return nil
}
