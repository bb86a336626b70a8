package middleware

import (
	"net/http"
	"time"

	"github.com/goweir/weir"
)

// Lists are keys that no limit is asked about. Their functions get the key that
// Config.Key returned, or NoKey.Key: the hash of an API key, 0|ann from weir.KeyFirst,
// the network of an IPv6 address. They must be quick, and are called from many goroutines
// at once. A map that never changes, or an atomic pointer to one, serves. Nil: none.
type Lists struct {
	// Allow reports whether a key passes unlimited, at no cost, without rate headers.
	Allow func(key string) bool
	// Block reports whether a key is refused with 403. It comes before Allow.
	Block func(key string) bool
}

// Keys returns a function for Lists that holds exactly these keys.
func Keys(keys ...string) func(key string) bool {
	set := make(map[string]bool, len(keys))
	for _, key := range keys {
		set[key] = true
	}
	return func(key string) bool { return set[key] }
}

// Level is a wider limit that a request counts against, beside Config.Limiter's.
type Level struct {
	// Limiter has the limits. Required, over the same store as Config.Limiter and
	// with a Name of its own, which is the Decision.Scope of its refusals. Clients read
	// a policy name that a narrower level has already with that Name before it, as
	// "org:10-in-1m". Only Config.Limiter's Hook gets the decisions.
	Limiter *weir.Limiter

	// Key returns the key that a request counts under: the organisation of its user,
	// or weir.KeyStatic for everyone. Required. An empty key counts as none.
	Key weir.KeyFunc

	// Limits returns the limits of a request's key, as Config.Limits does. Nil: the
	// Limiter's own.
	Limits func(*http.Request) ([]weir.Limit, error)

	// Cost returns how many units a request takes of this level, as Config.Cost
	// does. Nil: as many as of the request's own.
	Cost func(*http.Request) (int64, error)

	// SkipNoKey leaves requests uncounted by this level if Key finds no identity.
	// False: they are answered with 401. Either way a bad identity is answered with
	// 400 and a failure of Key with 500. Config.OnNoKey is not asked.
	SkipNoKey bool
}

// NoKey decides about a request without a usable key. The zero value refuses it
// with the status that [Config].OnNoKey names. Key goes before Pass, and Pass
// before Status.
type NoKey struct {
	// Key counts the request under this key, which all such requests share: one
	// client can use it up for all. Choose a key that no identity of yours can be.
	Key string
	// Pass lets the request pass without any limit. Every client can send such
	// requests, so that something else must limit them.
	Pass bool
	// Status refuses the request with this status, of 400 to 599, without a
	// Retry-After. Another one is a mistake and answered with 500.
	Status int
}

// Delay queues requests briefly instead of refusing them. A request that can't be served
// now books its slot and is served at that slot, in order across all processes (see
// weir.WaitLevels). With Config.Levels it waits for its own limits first and then for each
// wider level. A later pause delays it too. A client that leaves gives its slot back,
// except that over HTTP/1 a server does not notice while the request has an unread body.
// After a wait, rate headers show the units that remained when the slot was booked. The
// zero value is off: requests are served now or refused.
//
// If the store books nothing ahead, as a plainstore, every request is answered with 500.
type Delay struct {
	// Max bounds the wait. A request with a later slot is refused at once. Above 0,
	// and below the timeouts of the server and the clients.
	Max time.Duration
	// MaxWaiting bounds the requests of this middleware that wait at once, over all
	// keys. Further ones are served now or refused. A request counts from its start,
	// so also while the store is asked. Required with Max: each waiting request
	// keeps a connection and a goroutine.
	MaxWaiting int
}

// Penalty blocks a key for a while if it goes on asking although it is refused. The zero
// value is off.
//
// The process keeps nothing: the store counts refusals, and the block is a pause of
// the key, for everything that the same Limiter limits. Served requests cost nothing
// extra. Clients see every pause of their key as a block, also a pause by hand. A
// client that can ask in the name of a key can cause its block: penalise keys that are
// verified. All requests that share a [NoKey].Key are blocked together.
//
// With Config.Levels a refusal counts if the key's own limits refuse for longest. The
// store of Config.Limiter must be a store.Braker. If a fallback is over a store that is
// none, as a plainstore, nothing is blocked, and OnError gets an error each time.
type Penalty struct {
	// Limiter counts the refusals of a key. The refusal that uses it up blocks the
	// key: with weir.Per(20, time.Minute).By(weir.FixedWindow) the 20th within a
	// minute. Its name must differ from Config.Limiter's. Refusals of a blocked key do
	// not count. Nil: no penalty.
	Limiter *weir.Limiter
	// For is the length of the block: above 0, and at most a quarter of
	// store.MaxPeriod, 12.5 years.
	For time.Duration
}

// HeaderStyle is a family of rate headers.
type HeaderStyle uint8

const (
	// HeadersDraft11 sets RateLimit-Policy and RateLimit, as in
	// draft-ietf-httpapi-ratelimit-headers-11: every limit of the key in order. It
	// adds to the lists of other limiters on the way.
	//
	//	q  units at once: the rate of a window, the burst of a GCRA limit
	//	w  seconds until q units are available again: the window, or the time that
	//	   refills the burst; rounded up, and left out below one second
	//	r  units left
	//	t  seconds until more than r units are left, rounded up; under a SlidingWindow
	//	   until q are. Of a limit that refuses its part of Retry-After
	//
	// A client that waits for t when r is 0 is never refused. Neither is a client that
	// keeps to q units in w seconds, except under a SlidingCounter, which counts units
	// of one window through the next, less and less. There t is up to twice w. Otherwise
	// t is at most w, or w+1 over a plainstore, and r at most q. A pause or a debt from
	// Settle exceeds them. After either, or a change of plan, a cost of 0 gets a t too early.
	HeadersDraft11 HeaderStyle = iota
	// HeadersX sets X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset,
	// the last as t above, of one limit: of a refusal the binding one, otherwise
	// the one with the fewest units left, also of several limiters on the way.
	HeadersX
	// HeadersXEpoch is HeadersX with an X-RateLimit-Reset in seconds since 1970
	// UTC, by this process's clock.
	HeadersXEpoch
	// HeadersDraft6 sets RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset
	// (seconds from now) of one limit, as HeadersX does, and RateLimit-Policy with
	// every limit, as `2;w=60`: for clients that can't read HeadersDraft11 yet.
	HeadersDraft6
	// HeadersNone sets none.
	HeadersNone
)

// String returns the style in lower case with underscores.
func (s HeaderStyle) String() string { return nameOf(s, "draft11", "x", "x_epoch", "draft6", "none") }

// nameOf returns the name of a choice.
func nameOf[C ~uint8](choice C, names ...string) string {
	if int(choice) >= len(names) {
		return "unknown"
	}
	return names[choice]
}
