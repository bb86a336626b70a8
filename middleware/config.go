package middleware

import (
	"net/http"

	"github.com/goweir/weir"
)

// Config configures [New] and [NewGuard]. Only Limiter and Key are required. Every
// other field's zero value is a working choice. The functions are called from many
// goroutines at once. They must not write to the response, and must not read the
// body unless they put it back.
type Config struct {
	// Limiter decides. Required, and without InFlight, as no limiter here learns of
	// a request's end. Its Hook gets every decision.
	Limiter *weir.Limiter

	// Key returns the key that a request counts under. Required: there is no default
	// identity. An empty key counts as none. A key over 1024 bytes counts by its
	// start and a hash of it.
	Key weir.KeyFunc

	// Limits returns the limits of a request's key: those of a customer's plan, say.
	// A changed plan holds from the next request on, and the used share carries over. Nil:
	// the Limiter's own. No limits, or an invalid one, is a mistake and answered with
	// 500; Skip lets requests pass unlimited. An error means that the lookup failed,
	// and OnStoreFailure decides. Under FailOpen a client that can cause an error is
	// not limited: return a plan for customers that have none.
	Limits func(*http.Request) ([]weir.Limit, error)

	// Cost returns how many units a request takes. Nil: 1. A cost of 0 takes
	// nothing and is always allowed. A cost below 0, as r.ContentLength of a chunked
	// body, or an error, is answered with 500, whatever OnStoreFailure says.
	Cost func(*http.Request) (int64, error)

	// Skip reports whether a request passes unlimited, at no cost. Key is not called
	// for it. Nil: no request does.
	Skip func(*http.Request) bool

	// PassPreflights lets CORS preflights pass unlimited, at no cost and without a
	// key, for a CORS handler further in. These are OPTIONS with one Origin and one
	// Access-Control-Request-Method, without a body, Authorization, Cookie, or another
	// method in a header. Every client can send them, any number of times: the CORS
	// handler should answer all of them itself. False: they count as other requests
	// do. As browsers send them without credentials, most keys refuse them with 401:
	// mount the CORS handler further out.
	PassPreflights bool

	// Lists names keys that pass unlimited, and keys that are refused with 403.
	Lists Lists

	// Levels are wider limits that requests count against too, from narrow to wide:
	// the user's organisation, say, and everyone. A request passes when the limits
	// of all levels admit it. Otherwise it is refused and charged on none. The store
	// decides all levels in one call, on a Redis cluster one after another (see
	// package redisstore). A plainstore can't: every request is answered with 500.
	// Empty: only Limiter's limits hold.
	//
	// Lists, OnNoKey, Penalty and Shadows concern the request's own key. If they let
	// a request pass, no level counts it. Penalty counts a refusal only if Limiter's
	// own limits refuse for longest. Settle is called once for each different cost
	// (Outcome.Cost), and corrects all levels with it. HeadersDraft11 lists the policies
	// of all levels, the other styles show one limit.
	Levels []Level

	// OnNoKey decides about a request for which Key returned an error, or an empty
	// key, which is weir.ErrNoKey here. Nil, or the zero NoKey, refuses it:
	//
	//	weir.ErrNoKey           401: it has no identity
	//	weir.ErrMalformedKey    400: it states one malformed or twice
	//	any other error         500: the lookup failed; OnError gets it
	//
	// OnNoKey is not asked about a weir.ErrConfig, which is always a 500, nor about a
	// lookup that failed because the request's context ended. Clients choose which of
	// the first two errors they cause: to let all of them pass is no limit at all.
	OnNoKey func(r *http.Request, err error) NoKey

	// Challenge is the WWW-Authenticate header of each 401 for want of a key, which
	// RFC 9110 asks for, as `Bearer realm="api"`: printable ASCII. Empty: the header
	// stays as it is.
	Challenge string

	// Settle returns the real cost of a request once its handler has returned:
	// OnlyFailures, OnlySuccesses, ResponseBytes, or a function of your own. A request
	// is charged Cost when it comes, and refused if so much is not free, however many
	// requests are under way. Settling gives back units that it did not take. Units
	// that it took beyond Cost become debt, which later requests wait for.
	//
	// Rate headers show the state before. A request that cost 0 is not settled. A result below 0 is an
	// error and leaves the charge. Settling takes a second call of the store, before the response ends.
	// If it fails, the charge stays. Nil: requests cost Cost. The Limiter's store must be a
	// store.Settler. If a fallback is over a store that is none, as a plainstore, every request is
	// answered with 500. Mount http.MaxBytesHandler further out, so that it can close connections.
	Settle func(r *http.Request, o Outcome) int64

	// Delay queues requests briefly instead of refusing them. Zero: off.
	Delay Delay

	// Penalty blocks keys that go on asking though refused. Zero: off.
	Penalty Penalty

	// OnStoreFailure decides about requests when the store, or a lookup by Limits,
	// fails. The zero value, FailOpen, lets them pass: a broken limiter must not take
	// down the API that it protects.
	OnStoreFailure StoreFailure

	// Headers is the style of the rate headers on responses, refused or not. The
	// zero value is HeadersDraft11. Retry-After is set on every refusal that ends,
	// whatever the style.
	Headers HeaderStyle

	// PartitionSecret adds the parameter pk to HeadersDraft11: 8 bytes of the HMAC of
	// the key and the Limiter's name. Requests with equal pk share an allowance, and
	// without the secret a pk says nothing else. At least 16 bytes, the same in all
	// processes. It must be empty with other Headers. Empty: no pk.
	PartitionSecret []byte

	// ExposeHeaders lists the rate headers and Retry-After in
	// Access-Control-Expose-Headers, without which a browser hides them from
	// scripts of other origins. A CORS handler further in may replace the list. False:
	// the CORS handler does that.
	ExposeHeaders bool

	// OnLimited answers a request that a limit refused, in place of the problem body.
	// Rate headers, Retry-After and Cache-Control: no-store are set already. It writes
	// the status; a server sends 200 if it does not. Other refusals do not come here.
	// Nil: 429 with a problem body.
	OnLimited func(w http.ResponseWriter, r *http.Request, d weir.Decision)

	// OnWarning is called before the handler, once for each limiter with a warning about an
	// admitted request. d has a limit that is near (see [weir.Decision.Near]), or the
	// refusal of a limiter in shadow, which has no other effect. Of several near limits d
	// has the binding one, or else the narrowest. OnWarning may set headers and must not
	// write. [WarnByHeader] is one. Nil: no warnings.
	OnWarning func(w http.ResponseWriter, r *http.Request, d weir.Decision)

	// OnError gets the errors that clients don't see: those of Key, Limits and Cost,
	// of settling, of the stores, of a wrong configuration, and ErrNeverIdentified
	// once. A request without a key, or with an ended context, is no error. The
	// Limiter's Hook gets those of its store as well.
	//
	// Nil: slog's default logger gets them, as errors if requests are refused and
	// otherwise as warnings, at most one per second for each kind and middleware. The
	// attribute more counts the errors of the kind since its last line. The log never
	// has a key or a header's value. The text of an error of Key, Limits or Cost may have
	// one, so the log has its Go types instead. A store must keep keys out of its errors.
	// A function that does nothing silences the log.
	OnError func(r *http.Request, err error)

	// Shadow decides, charges, and calls the Limiter's Hook and OnError, but refuses
	// no request, sets no rate header and does not call OnLimited. It is for watching new
	// limits before they hold; nothing is protected. False: refusals are real.
	Shadow bool

	// Shadows are limits that are watched before they hold, beside those of Limiter.
	// Each is a Limiter with a name of its own. They decide and charge after Limiter
	// has let a request pass, with its key and cost, and their Hooks get the
	// decisions, and OnWarning those over or near the limit. They refuse nothing, delay
	// nothing, set no rate header, are not settled, and take one call of their store
	// each. Empty: none.
	Shadows []*weir.Limiter
}

// StoreFailure decides about a request when the store, or the lookup of limits, failed.
type StoreFailure uint8

const (
	// FailOpen lets the request pass, uncounted and without rate headers.
	FailOpen StoreFailure = iota
	// FailClosed answers 503, so that an outage of the store is one of the API.
	FailClosed
)

// String returns the choice in lower case.
func (f StoreFailure) String() string { return nameOf(f, "open", "closed") }
