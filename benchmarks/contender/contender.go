// Package contender has the libraries that are compared, each in a file of its
// own: what they can do, done in the way that they recommend.
package contender

import (
	"context"
	"net/http"
	"time"
)

// Contender is a library that takes part. What it can't do is nil.
type Contender struct {
	// Name is what it is called in tables. No two have the same.
	Name string
	// Module is the path of the module whose version is shown. Empty: none.
	Module string
	// Note says what a reader has to know to judge it. Empty: nothing.
	Note string
	// Own marks weir, Physical what no limiter is: the limits of the machine.
	Own, Physical bool
	// Variant takes part in few cases: another algorithm of a library that
	// takes part in all.
	Variant bool
	// Crowd has a Variant take part with the most callers too.
	Crowd bool
	// Warm is how long it is used before it is measured. 0: until it is connected.
	Warm time.Duration
	// Paced has it measured under limits by which many keys can be used all the time,
	// see Used, as it goes by how they are used.
	Paced bool
	// Batch is how many decisions one call of a Decide makes. 0: 1.
	Batch int

	// Local decides within the process.
	Local func(c Cleaner, limit Limit) (Decide, error)
	// Redis decides by a server.
	Redis func(c Cleaner, limit Limit, at Servers) (Decide, error)
	// OnCluster: Redis can do so by a cluster as well.
	OnCluster bool
	// Network decides by a server behind a network. Nil: takes no part in that.
	Network func(c Cleaner, limit Limit, at Servers) (Decide, error)
	// Resilient decides by a server behind which something stands in for it.
	// Nil: Redis.
	Resilient func(c Cleaner, limit Limit, at Servers) (Decide, error)
	// Waiting waits for a slot, by the process's memory when at is zero.
	Waiting func(c Cleaner, limit Limit, at Servers) (Wait, error)
	// LocalWaiting: Waiting needs no server.
	LocalWaiting bool

	// Web is mounted around an HTTP handler.
	Web Web
	// Transport is put around a base.
	Transport func(c Cleaner, limit Limit, base http.RoundTripper) (http.RoundTripper, error)
}

// Decide charges one unit to a key.
type Decide func(ctx context.Context, key string) (allowed bool, err error)

// Wait returns when a unit of a key was granted.
type Wait func(ctx context.Context, key string) error

// Cleaner closes what was opened: a *testing.B is one.
type Cleaner interface{ Cleanup(func()) }

// Web is how a middleware is mounted.
type Web struct {
	// Base serves the same without a middleware, in the same framework. Its name
	// is what the overhead is over.
	Framework Framework
	// Mount returns a handler that counts by the header [KeyHeader].
	Mount func(c Cleaner, limit Limit, h http.Handler) (http.Handler, error)
}

// KeyHeader is the request header that middlewares count by.
const KeyHeader = "X-Api-Key"

// Framework is what a middleware is made for.
type Framework string

// The frameworks.
const (
	NetHTTP Framework = "net/http"
	Gin     Framework = "gin"
	Echo    Framework = "echo"
)

// Limit is what all contenders of a case are set to: a bucket of Burst units
// that gets one back each Refill, or Burst units in a Window.
type Limit struct {
	Burst          int64
	Refill, Window time.Duration
}

// Roomy returns a limit that is never reached with so many keys, whose keys
// are not as if never used either before the measurement is over.
func Roomy(keys int) Limit {
	if keys < 1000 {
		return Limit{Burst: 1_000_000_000, Refill: time.Second, Window: time.Hour}
	}
	return Limit{Burst: 1_000_000, Refill: 10 * time.Minute, Window: time.Hour}
}

// Used returns a limit that is never reached with so many keys that are used all
// the time.
func Used(keys int) Limit {
	l := Roomy(keys)
	if keys > 1 {
		l.Refill = time.Millisecond
	}
	return l
}

// Tight returns a limit that admits one unit, and then none for an hour.
func Tight() Limit { return Limit{Burst: 1, Refill: time.Hour, Window: time.Hour} }

// All returns everything that takes part, weir first.
func All() []Contender {
	return []Contender{
		Weir(), WeirWindow(), WeirCounter(), WeirFixed(), WeirThree(), WeirLeases(),
		WeirFallback(), WeirRoundTrips(3), WeirRoundTrips(16),
		RedisRate(), RueidisLimiter(), Ulule(), Throttled(), HTTPRate(), GoLimiter(), Mennanov(),
		XTimeRate(), Tollbooth(), EchoOwn(), GinRateLimit(), Failsafe(), WeirGin(), WeirEcho(),
		Ping(), ReturnOne(), BareGCRA(), AutoPipelined(), Pipelined(),
	}
}
