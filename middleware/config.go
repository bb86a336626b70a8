package middleware

import (
	"net/http"

	"github.com/goweir/weir"
)

// Config is what [New] and [NewGuard] are made from. Only Limiter and Key are
// required; every other field's zero value is a working choice. The functions
// are called from many goroutines at once, must not write to the response, and
// must not read the body unless they put it back.
type Config struct {
	// Limiter decides. Required, and without InFlight, as no limiter here is told
	// when a request has ended. Its Hook is told of every decision.
	Limiter *weir.Limiter

	// Key says who is counted. Required: there is no default identity. An
	// empty key counts as none, even if the Limiter allows it. One over 1024
	// bytes counts by its start and a hash of it.
	Key weir.KeyFunc

	// Limits returns the limits of a request's key, as a customer's plan has
	// them; a plan that changes holds from the next request on, and what was
	// used carries over. Nil: the Limiter's own. No limits, or an invalid one,
	// is a mistake and answered with 500: unlimited is said with Skip. An error
	// means that the plan could not be looked up, which is an outage and gets
	// what OnStoreFailure says, so a client that can cause it is not limited
	// under FailOpen: return a plan for customers that have none.
	Limits func(*http.Request) ([]weir.Limit, error)

	// Cost returns how many units a request takes. Nil: 1. A cost of 0 takes
	// nothing and is always allowed. A cost below 0, or an error, is answered
	// with 500, whatever OnStoreFailure says.
	Cost func(*http.Request) (int64, error)

	// Skip reports whether a request passes unlimited, at no cost, before its
	// key is asked for. Nil: none does.
	Skip func(*http.Request) bool

	// CountPreflights counts CORS preflights (OPTIONS with Origin and
	// Access-Control-Request-Method) as any other request. False: they pass
	// unlimited, as browsers send them before the requests that are counted, and
	// without credentials that a key could be made from. But anybody can send what
	// looks like one, any number of times: set it where they cost something, as
	// around a reverse proxy, and answer those of browsers further out or count by
	// address.
	CountPreflights bool

	// Lists names keys that pass unlimited, and keys that are refused with 403.
	Lists Lists

	// Levels are wider limits that requests count against too, from narrow to wide:
	// the user's organisation, say, and everybody. A request passes when the limits
	// of all levels admit it. Otherwise it is refused and charged on none. The store
	// decides all levels in one call, on a Redis cluster one after another (see
	// package redisstore). Empty: only Limiter's limits hold.
	//
	// Lists, OnNoKey, Penalty and Shadows concern the request's own key. If they let
	// a request pass, no level counts it. Penalty counts a refusal only if Limiter's
	// own limits refuse for longest. Settle is asked once for each cost, which is in
	// the Outcome, and corrects all levels with that cost. HeadersDraft11 lists the
	// policies of all levels, the other styles show the binding limit.
	Levels []Level

	// OnNoKey decides about a request for which Key returned an error, or an empty
	// key, which is weir.ErrNoKey here. Nil, or the zero NoKey, refuses it:
	//
	//	weir.ErrNoKey                            401: it has no identity
	//	weir.ErrAmbiguousKey, ErrMalformedKey    400: it states one twice or malformed
	//	any other error                          500: the lookup failed; OnError is told
	//
	// OnNoKey is not asked about a weir.ErrConfig, which is always a 500, nor about a
	// lookup that failed because the request's context ended. Clients choose which of
	// the first three errors they cause: to let all of them pass is no limit at all.
	OnNoKey func(r *http.Request, err error) NoKey

	// Challenge is the WWW-Authenticate header of each 401 for want of a key, which
	// RFC 9110 asks for, as `Bearer realm="api"`: printable ASCII. Empty: the header
	// stays as it is.
	Challenge string

	// Settle returns what a request really took, once its handler has returned:
	// OnlyFailures, OnlySuccesses, ResponseBytes, or a function of one's own. A
	// request is charged Cost when it comes, and refused when that is used up,
	// however many are served at once; what it took less is then given back, and
	// what it took more later requests have to wait for. Rate headers tell the
	// state before. A request that cost 0 is not settled. An answer below 0 is
	// an error, and leaves the charge as it was. Correcting takes a second call
	// of the store, before the response ends; when that fails, the charge
	// stays. Nil: requests cost what Cost says. The Limiter's store must be a
	// store.Settler; with a redisstore without scripts, which is one that settles
	// nothing, every request is answered with 500.
	Settle func(r *http.Request, o Outcome) int64

	// Delay queues requests briefly instead of refusing them. Zero: off.
	Delay Delay

	// Penalty blocks keys that go on asking though refused. Zero: off.
	Penalty Penalty

	// OnStoreFailure says what a request gets when no decision could be made.
	// The zero value, FailOpen, lets it pass: a limiter that is away must not
	// take down what it protects.
	OnStoreFailure StoreFailure

	// Headers says which rate headers responses carry, refused or not. The
	// zero value is HeadersDraft11. Retry-After is set on every refusal that ends,
	// whatever the style.
	Headers HeaderStyle

	// PartitionSecret adds to HeadersDraft11 the parameter pk, which tells a client
	// what it shares an allowance with: 8 bytes of the HMAC of the key and the
	// Limiter's name, which tell nothing without the secret. At least 16 bytes,
	// and the same in all processes. It must be empty with other Headers. Empty:
	// no pk.
	PartitionSecret []byte

	// ExposeHeaders lists the rate headers and Retry-After in
	// Access-Control-Expose-Headers, without which a browser hides them from
	// scripts of other origins. False: that is left to the CORS handler.
	ExposeHeaders bool

	// OnLimited answers a request that a limit refused, instead of the problem
	// body: rate headers, Retry-After and Cache-Control: no-store are set
	// already, and the status is its to write (the server sends 200 for a
	// handler that writes none). Nil: 429 with a problem body. Other refusals do not come here.
	OnLimited func(w http.ResponseWriter, r *http.Request, d weir.Decision)

	// OnError is told of the errors that clients are not shown: those of Key,
	// Limits and Cost, of settling, of the stores, of a wrong configuration, and
	// ErrNeverIdentified once. A request
	// without a key, or whose context ended, is none. Nil: nobody is told,
	// though the Limiter's Hook still is of the store's.
	OnError func(r *http.Request, err error)

	// Shadow decides and charges, and the Limiter's Hook and OnError are told,
	// but no request is ever refused, no header is set and OnLimited is not
	// called. It is for watching new limits before they hold; with it nothing
	// is protected. False: refusals are real.
	Shadow bool

	// Shadows are limits to be watched beside those of Limiter before they
	// hold, each a Limiter of its own with a name of its own: they decide and
	// charge after Limiter has let a request pass, with its key and cost, and
	// their Hooks are told what they would have refused. They refuse nothing,
	// delay nothing, set no header, are not settled, and take one call of their
	// store each. Empty: none.
	Shadows []*weir.Limiter
}

// StoreFailure is what a request gets when no decision could be made: the
// store failed, or the request's limits could not be looked up.
type StoreFailure uint8

const (
	// FailOpen lets the request pass, uncounted and without rate headers.
	FailOpen StoreFailure = iota
	// FailClosed answers 503, so that an outage of the store is one of the API.
	FailClosed
)
