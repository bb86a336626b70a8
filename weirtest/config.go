package weirtest

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
)

const (
	// defaultArrivals is the default of ProviderConfig.MaxArrivals.
	defaultArrivals = 100_000
	// maxArrivals and maxKeptBody keep a typing error from filling the memory.
	maxArrivals = 100_000_000
	maxKeptBody = 1 << 30
)

// ProviderConfig configures [NewProvider] and [NewServer]. The zero value admits
// everything, without rate headers. All functions must be safe for concurrent use.
type ProviderConfig struct {
	// Limits hold together, for each key: a request is admitted by all of them or
	// charged on none. The provider counts exactly, by algorithm:
	//
	//	store.GCRA           a token bucket of Burst units
	//	store.SlidingWindow  a strict log of arrivals
	//	store.FixedWindow    a window that opens at the first unit
	//	store.AlignedWindow  a window of the calendar
	//	store.SlidingCounter refused: an estimate
	//
	// No two may have the same policy name. Empty: no rate limit.
	Limits []weir.Limit
	// Key returns the counted identity. Nil: all requests count together.
	Key func(*http.Request) string
	// Cost returns a request's units of one of the limits. 0 takes nothing and always
	// fits. A negative cost is answered with 500 and not counted. Cost may read the
	// body if KeepBodies is set. Nil: 1 unit of each limit.
	Cost func(*http.Request, weir.Limit) int64
	// Settle returns the real cost of an admitted request, which may be below its Cost.
	// It is called when Handler has ended. The cost stays as it is if Handler panicked, or
	// did not run. Settle may read the body if KeepBodies is set. Nil: the real cost is
	// Cost.
	Settle func(*http.Request, weir.Limit) int64
	// MaxInFlight is the maximum number of requests of one key being served at once:
	// during Latency and Handler. Further ones are refused. 0: no maximum.
	MaxInFlight int

	// Status is the status of a refusal: 400 to 599. 0: 429. Some providers send 403
	// or 503.
	Status int
	// InFlightStatus is the status of a refusal by MaxInFlight: 400 to 599. 0: Status.
	InFlightStatus int
	// RetryAfter is the form of Retry-After in a refusal. The zero value is whole
	// seconds, rounded up. A refusal without a known end has none: by MaxInFlight, or
	// of a cost that never fits.
	RetryAfter RetryAfterForm
	// Hook sets further headers of every response, refused or not: the rate headers
	// of the provider that the test stands for. It runs after Date and Retry-After
	// are set, and before Handler. Nil: no further headers.
	Hook func(h http.Header, r *http.Request, a Answer)

	// Travel returns how long a request travels before it is counted. Nil: 0.
	Travel func(*http.Request) time.Duration
	// Latency returns how long an admitted request waits for Handler. Nil: 0.
	Latency func(*http.Request) time.Duration
	// Handler answers admitted requests. A panic with http.ErrAbortHandler cuts the
	// connection. Nil: 200 and "ok\n".
	Handler http.Handler
	// Stream makes Transport return a response at the first Flush of Handler. The rest
	// of the body comes as Handler writes it. False: it returns when Handler has ended.
	Stream bool

	// KeepBodies is the maximum length in bytes of a body. Bodies are then read before
	// their request is counted, and kept in its Arrival. A longer body is answered
	// with 413 and not counted. 0: bodies are left to Handler.
	KeepBodies int64
	// MaxArrivals is the number of Arrivals kept; the oldest are forgotten. 0: 100 000,
	// about 10 MB without keys and bodies.
	MaxArrivals int
}

// validate reports the first wrong field, as a *store.ConfigError.
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

// defaults returns the config with its defaults filled in, and with limits of its
// own.
func (c ProviderConfig) defaults() ProviderConfig {
	c.Limits = slices.Clone(c.Limits)
	if c.Key == nil {
		c.Key = func(*http.Request) string { return "" }
	}
	if c.Cost == nil {
		c.Cost = func(*http.Request, weir.Limit) int64 { return 1 }
	}
	c.Status = cmp.Or(c.Status, http.StatusTooManyRequests)
	c.InFlightStatus = cmp.Or(c.InFlightStatus, c.Status)
	c.MaxArrivals = cmp.Or(c.MaxArrivals, defaultArrivals)
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
