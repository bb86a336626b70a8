package weir

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/upstream"
)

// TransportConfig is what [NewTransport] makes a Transport from.
type TransportConfig struct {
	// Limiter decides when a request may leave. Required.
	Limiter *Limiter
	// Base sends the requests. Nil: what http.DefaultTransport is at the time
	// of each request.
	Base http.RoundTripper
	// Key says what a request counts against. Nil: [KeyHost].
	Key KeyFunc
	// Cost says how many units a request takes, 0 or more; 0 sends it without
	// taking any. It must not change the request nor read its body, and is
	// called from many goroutines at once. Nil: every request takes 1.
	Cost func(*http.Request) (int64, error)
	// Settle says what a request really cost, where that is known only from its
	// response: from a header, or when its body has ended, from the trailers, the
	// number of bytes, or the end of the body itself. Cost is an estimate then.
	// It must not change the response nor read its body, and is called from many
	// goroutines at once. Where it never knows, and when no response came, the
	// estimate stands; a request that no connection could be made for costs
	// nothing. It needs a Limiter whose store is a [store.Settler]. Nil: every request
	// costs what Cost said.
	Settle SettleFunc
	// SkipNoKey leaves a request uncounted for which Key finds no identity
	// ([ErrNoKey]). False: it fails with that error.
	SkipNoKey bool
	// Within are further limits that hold for the same requests, from narrow to
	// wide: with a token's limit above, the organisation's and then the host's.
	// Nil: none.
	Within []TransportLimit
	// MaxWait is the longest a request waits, in place of its limiters'
	// MaxWait: for its slots of all limits, and with Retry for all its attempts
	// and before them, together; not counting the up to 50 ms by which a pause
	// is made longer than the upstream asked for. What Retry reads of a response
	// counts, but is not cut off: that takes as long as the upstream takes to
	// send it, until the request's context ends. 0: the MaxWait of Limiter, and
	// those of the limiters in Within each for its own slot. It can't be
	// combined with Refuse.
	MaxWait time.Duration
	// Refuse makes a request that can't leave now fail now. With Retry a
	// further attempt still waits for what the upstream asked for, and is not
	// made when it can't leave within 200 ms after that. False: it waits.
	Refuse bool
	// Retry says when a request is sent again. The zero value: never.
	Retry Retry
	// Upstream reads what responses say of the upstream's limits, which slows
	// down everybody who shares the store: see Transport. Nil: a zero Reader,
	// which understands what is common. Where it has no Skip, budgets that are
	// named for what costs, as tokens, are skipped, or those that are named for
	// requests where Cost or Settle is set: only a limit of the same unit can be
	// compared.
	Upstream *upstream.Reader
	// IgnoreUpstream sends requests at the limits' pace whatever the responses
	// say; only a further attempt of a request waits for what its own response
	// asks for. False: they are heeded.
	IgnoreUpstream bool
}

// Transport is an [http.RoundTripper] that sends each request when a [Limiter]
// allows it. By default a request books its slot and waits for it, in order
// with all others of its key in all processes that share the store. It is safe
// for concurrent use and adds nothing to a request or a response.
//
// A request that is not sent fails with an error that errors.Is and errors.As
// tell apart, through the *url.Error of an http.Client too:
//
//   - a *[LimitedError] ([ErrLimited]) when its slot lies past MaxWait or the
//     deadline of its context, which is known at once and takes nothing;
//   - context.Canceled or context.DeadlineExceeded when its context ends while
//     it waits, which gives the slot back;
//   - a *[StoreError] ([ErrStore]) when the store fails;
//   - what Key or Cost returned, or a *[ConfigError] when the cost is negative.
//
// With several limiters the Scope of a LimitedError says which one refused.
//
// The Timeout of an http.Client is such a deadline, so it covers the wait. The
// deprecated Cancel field of a request does not end a wait.
//
// # Every attempt counts
//
// Each call of RoundTrip is charged, a redirect with the key of where it leads,
// and so is each attempt of a Transport's own [Retry]. Code that retries by
// other means belongs around a Transport, with it as the Transport of the
// client that it calls: inside it, a request that is tried four times would be
// charged once. What net/http sends again by itself, because a connection
// turned out to be dead, happens further inside and is not charged.
//
// # What the upstream says
//
// Every response is read for what it says of the upstream's own limits, by
// package upstream, and the request's key slowed down accordingly, for everybody
// who shares the store; with Within it is the first key that counted the
// request, or that of the limit which a response of success speaks of. A refusal
// that says for how long, and a response that says that nothing is left until some
// time, pause the key (see [Limiter.Pause]), at most for the limiter's MaxPause. A
// refusal that does not say for how long halves the rate (see [store.Cut]), and so do those
// that do where many of the requests that leave after pauses are refused. A limit that
// is lower than ours, or less left than we know of, spaces the units that are left
// evenly, until the upstream says otherwise; not one of a window that is longer than
// any of ours and than MaxPause, as a day's, which pauses when it is used up.
// The key is never used faster than its limits allow. As long as the upstream
// agrees with the limits none of this makes a call of the store, but for a look
// when it seems that others have used much; a store that is no [store.Braker] does none
// of it.
//
// # Several limits
//
// With Within a request needs a slot of every limit. It waits for that of
// Limiter first and for the others in their order, so that while it waits for
// a narrow limit nothing is booked on the wider ones: a token that has used up
// its own limit does not hold up the host's other tokens. When a later limit
// refuses, its store fails or the request's context ends, what was booked on the
// earlier ones is given back. All keys and costs are determined before anything
// is booked. With Refuse all limits must admit the request now.
//
// A limit counts a request at its own slot. One that then waits for a wider
// limit leaves later than that, so when the wait for the wide limit gets
// shorter, requests of one narrow key may leave closer together than the narrow
// limit has it, though never faster than the wide one does. Where the narrow
// limit is the one that must not be exceeded, give the wide one room.
//
// # Margin
//
// Departures are counted here, arrivals at the provider. Two requests that
// leave a period apart arrive closer together when the first takes longer to
// get there, so a limit equal to the provider's can still put 26 arrivals into
// its window of 25. Stretch the limit by the variation of the time from here to
// there, with [Limit.Stretch]: the slowest less the fastest, including a new
// connection's handshake and whatever else holds a request back further inside,
// as http.Transport's MaxConnsPerHost does. And count as the provider does: see
// [Algorithm] for the most that each can put into one period.
type Transport struct {
	scopes   []scope // narrowest first; none in a zero Transport
	base     http.RoundTripper
	maxWait  time.Duration // of all waits of a request together; 0: no bound
	override bool          // maxWait takes the place of every limiter's
	refuse   bool
	retry    retryPolicy
	upstream *upstream.Reader
	ignore   bool // what the upstream says
	underWay atomic.Int64
}

// NewTransport returns a Transport, or a *[ConfigError] that names the wrong
// field. It does no I/O.
func NewTransport(cfg TransportConfig) (*Transport, error) {
	scopes, err := cfg.scopes()
	if err != nil {
		return nil, err
	}
	switch {
	case cfg.MaxWait < 0:
		return nil, &ConfigError{Field: "TransportConfig.MaxWait", Want: "0 or more", Got: cfg.MaxWait.String()}
	case cfg.MaxWait > 0 && cfg.Refuse:
		return nil, &ConfigError{Field: "TransportConfig.MaxWait", Want: "0 with Refuse, which never waits", Got: cfg.MaxWait.String()}
	}
	if cfg.Upstream == nil {
		cfg.Upstream = new(upstream.Reader)
	}
	if err := cfg.Upstream.Check(); err != nil {
		return nil, &ConfigError{Field: "TransportConfig.Upstream", Want: "a valid reader", Got: err.Error()}
	}
	retry, err := cfg.Retry.policy()
	if err != nil {
		return nil, err
	}
	t := &Transport{
		scopes:   scopes,
		base:     cfg.Base,
		maxWait:  cfg.MaxWait,
		override: cfg.MaxWait > 0,
		refuse:   cfg.Refuse,
		retry:    retry,
		upstream: readerFor(cfg.Upstream, scopes),
		ignore:   cfg.IgnoreUpstream,
	}
	if t.maxWait == 0 {
		t.maxWait = cfg.Limiter.maxWait
	}
	return t, nil
}

// RoundTrip sends the request when its limits allow it, and again as Retry
// says. As http.RoundTripper demands, it never changes the request and its body
// is closed in every case.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	sent := false
	// Deferred, so that a panic in Key or Cost does not leave the body open.
	defer func() {
		if !sent && req.Body != nil {
			_ = req.Body.Close()
		}
	}()
	base, err := t.resolveBase()
	if err != nil {
		return nil, err
	}
	var start time.Time
	if t.retry.times > 0 {
		start = time.Now()
	}
	var a admission
	if err := t.admit(req, t.maxWait, t.refuse, &a); err != nil {
		return nil, err
	}
	sent = true // from here on the body is the base's to close
	waited := time.Duration(0)
	if t.retry.times > 0 {
		waited = time.Since(start)
	}
	resp, pause, seenTo, err := t.attempt(base, req, &a)
	if t.retry.times == 0 {
		return resp, err
	}
	again := &retrial{t: t, base: base, req: req, waited: waited, pause: pause, booked: a, seenTo: seenTo}
	return again.run(resp, err)
}

// CloseIdleConnections closes the base's idle connections, if it knows how to.
func (t *Transport) CloseIdleConnections() {
	base, err := t.resolveBase()
	if err != nil {
		return
	}
	if c, ok := base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// resolveBase returns what sends the request that is being made.
func (t *Transport) resolveBase() (http.RoundTripper, error) {
	if len(t.scopes) == 0 {
		return nil, &ConfigError{Field: "Transport", Want: "one made by NewTransport", Got: "a zero one"}
	}
	if t.base != nil {
		return t.base, nil
	}
	base := http.DefaultTransport
	if base == nil || base == http.RoundTripper(t) {
		// Without this a program that makes t the default would recurse for ever.
		return nil, &ConfigError{Field: "TransportConfig.Base", Want: "a base when http.DefaultTransport is this Transport or nil", Got: "nil"}
	}
	return base, nil
}

// attempt sends an admitted request, and sees to what its outcome means for the
// limits: see heed for what else it returns.
func (t *Transport) attempt(base http.RoundTripper, req *http.Request, a *admission) (resp *http.Response, pause time.Duration, seenTo bool, err error) {
	back, concluded := false, false
	var body io.ReadCloser // no io.Closer, which would have to be looked for in it
	// Deferred, so that a panic in the base, a Dialect or Settle keeps nothing in
	// flight or under way, and no body open.
	defer func() {
		if concluded {
			return
		}
		if !back {
			t.underWay.Add(-1)
		}
		a.abandon()
		if body != nil {
			_ = body.Close()
		}
	}()
	if a.counted && !t.ignore {
		a.left = a.first.limiter.herds.left()
	}
	t.underWay.Add(1)
	resp, err = base.RoundTrip(req)
	t.underWay.Add(-1)
	back = true
	if (resp == nil) == (err == nil) {
		resp, err = either(base, resp, err)
	}
	if err == nil {
		body = resp.Body // without what is put around it
		pause, seenTo = t.heed(req, a, resp)
	}
	a.conclude(req, resp, err)
	concluded = true
	return resp, pause, seenTo, err
}

// either makes a base that has returned both a response and an error, or neither,
// keep to http.RoundTripper's contract all the same.
func either(base http.RoundTripper, resp *http.Response, err error) (*http.Response, error) {
	if err == nil {
		return nil, fmt.Errorf("weir: transport: the base %T %w", base, errNoOutcome)
	}
	if resp.Body != nil {
		_ = resp.Body.Close()
	}
	return nil, err
}

var errNoOutcome = errors.New("returned neither a response nor an error")
