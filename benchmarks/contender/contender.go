// Package contender has the compared libraries, each in its own file and used as it
// recommends.
package contender

import (
	"context"
	"net/http"
	"time"
)

// Contender is a compared library. Functions that it lacks are nil.
type Contender struct {
	// Name is its name in tables. No two have the same.
	Name string
	// Module is the path of the module with the shown version. Empty: none.
	Module string
	// Note is a text that readers need to judge the figures. Empty: none.
	Note string
	// Own marks weir. Physical marks a limit of the machine, which is no limiter.
	Own, Physical bool
	// Variant limits it to few cases: another algorithm of a library that has all cases.
	Variant bool
	// Crowd adds the case with the most callers to a Variant.
	Crowd bool
	// Warm is the time of use before a measurement. 0: until it is connected.
	Warm time.Duration
	// Paced measures it under limits for many keys in constant use, see Used: its figures
	// depend on such use.
	Paced bool
	// Batch is the number of decisions per call of a Decide. 0: 1.
	Batch int

	// Local decides within the process.
	Local func(c Cleaner, limit Limit) (Decide, error)
	// Redis decides on a server.
	Redis func(c Cleaner, limit Limit, at Servers) (Decide, error)
	// OnCluster adds a cluster to Redis.
	OnCluster bool
	// Network decides on a server behind a network. Nil: no such case.
	Network func(c Cleaner, limit Limit, at Servers) (Decide, error)
	// Resilient decides on a server with a fallback. Nil: Redis.
	Resilient func(c Cleaner, limit Limit, at Servers) (Decide, error)
	// Waiting waits for a slot, in the process's memory if at is zero.
	Waiting func(c Cleaner, limit Limit, at Servers) (Wait, error)
	// LocalWaiting says that Waiting needs no server.
	LocalWaiting bool

	// Web is mounted around an HTTP handler.
	Web Web
	// Transport wraps a base.
	Transport func(c Cleaner, limit Limit, base http.RoundTripper) (http.RoundTripper, error)
}

// Decide charges one unit to a key.
type Decide func(ctx context.Context, key string) (allowed bool, err error)

// Wait returns after it was granted a unit of a key.
type Wait func(ctx context.Context, key string) error

// Cleaner closes resources, as a *testing.B does.
type Cleaner interface{ Cleanup(func()) }

// Web is a mounted middleware.
type Web struct {
	// Framework serves the same without a middleware. The overhead is relative to it.
	Framework Framework
	// Mount returns a handler that counts by the header [KeyHeader].
	Mount func(c Cleaner, limit Limit, h http.Handler) (http.Handler, error)
}

// KeyHeader is the request header that middlewares count by.
const KeyHeader = "X-Api-Key"

// Framework is the framework of a middleware.
type Framework string

// The frameworks.
const (
	NetHTTP Framework = "net/http"
	Gin     Framework = "gin"
	Echo    Framework = "echo"
)

// Limit is the limit of all contenders in a case: a bucket of Burst units that gets one
// back each Refill, or Burst units in a Window.
type Limit struct {
	Burst          int64
	Refill, Window time.Duration
}

// Roomy returns a limit that so many keys never reach. The state of no key lapses in the
// measurement.
func Roomy(keys int) Limit {
	if keys < 1000 {
		return Limit{Burst: 1_000_000_000, Refill: time.Second, Window: time.Hour}
	}
	return Limit{Burst: 1_000_000, Refill: 10 * time.Minute, Window: time.Hour}
}

// Used returns a limit that so many keys in constant use never reach.
func Used(keys int) Limit {
	l := Roomy(keys)
	if keys > 1 {
		l.Refill = time.Millisecond
	}
	return l
}

// Tight returns a limit of one unit per hour.
func Tight() Limit { return Limit{Burst: 1, Refill: time.Hour, Window: time.Hour} }

// All returns all contenders, weir first.
func All() []Contender {
	return []Contender{
		Weir(), WeirWindow(), WeirCounter(), WeirFixed(), WeirThree(), WeirLeases(),
		WeirFallback(), WeirRoundTrips(3), WeirRoundTrips(16),
		RedisRate(), RueidisLimiter(), Ulule(), Throttled(), HTTPRate(), GoLimiter(), Mennanov(),
		XTimeRate(), Tollbooth(), EchoOwn(), GinRateLimit(), Failsafe(), WeirGin(), WeirEcho(),
		Ping(), ReturnOne(), BareGCRA(), WeirScript(), Pipelined(),
	}
}
