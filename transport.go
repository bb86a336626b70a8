package weir

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/goweir/weir/internal/deadline"
	"github.com/goweir/weir/internal/heed"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/upstream"
)

// TransportConfig is the configuration of a [Transport].
type TransportConfig struct {
	// Limiter decides when a request may leave. Required. Each of its limits comes from
	// [Outbound], or has a window algorithm, or has a Burst.
	Limiter *Limiter
	// Base sends the requests. Nil: http.DefaultTransport at the time of each
	// request.
	Base http.RoundTripper
	// Key returns the key that a request counts against, and that a refusal pauses.
	// Required: requests with one key share the limit, so the key says whose limit it
	// is at the provider.
	//
	//	KeyHost()                                                 one limit for the host
	//	KeyJoin(KeyHost(), KeyAPIKey("Authorization", nil))       one for each token
	//	KeyJoin(KeyHost(), a function that names the endpoint)    one for each endpoint
	//	KeyStatic("api")                                          one for all requests
	Key KeyFunc
	// Cost returns the number of units that a request takes, 0 or more; 0 sends it
	// without taking any, whatever Settle returns. It must not change the request nor
	// read its body, and is called from many goroutines at once. Nil: every request takes 1.
	Cost func(*http.Request) (int64, error)
	// Settle returns the real cost of a request, if only its response has it: in a header,
	// a trailer, the length of the body, or the body's beginning or end. Cost is an
	// estimate then. The estimate stands while Settle does not know the cost, and without
	// a response. A request without a connection costs nothing.
	//
	// Settle must not change the response nor read its body, and is called from many
	// goroutines at once. It needs a Limiter whose store is a [store.Settler]. Nil: every
	// request costs its Cost.
	Settle SettleFunc
	// SkipNoKey sends a request uncounted if Key finds no identity ([ErrNoKey]), as
	// KeyBearer in a request without a token. False: it fails with that error.
	SkipNoKey bool
	// Levels are further limits for the same requests, from narrow to wide: after a
	// token's limit above, the organisation's and then the host's. Nil: none.
	Levels []TransportLevel
	// MaxWait is the maximum time that a request waits for its slots of all limits
	// together, in place of its limiters' MaxWait. 0: the MaxWait of Limiter, and
	// for each of Levels the MaxWait of its own limiter too. It can't be combined
	// with Refuse.
	MaxWait time.Duration
	// Refuse makes a request that can't leave now fail now. False: it waits.
	Refuse bool
	// Upstream reads the upstream's limits from responses. They slow down all
	// processes that share the store: see Transport. Nil: a zero Reader, which
	// understands the common forms. A Reader without a Skip skips budgets of another
	// unit: tokens and other costs, or requests if Cost or Settle is set.
	Upstream *upstream.Reader
	// IgnoreUpstream sends requests at the limits' pace, whatever the responses say.
	// False: they slow keys down.
	IgnoreUpstream bool
}

// Transport is an [http.RoundTripper] that sends each request when a [Limiter]
// allows it. A request books its slot and waits for it, in order with all others of
// its key, in all processes that share the store. It is safe for concurrent use, and
// adds nothing to a request or a response. Package retry sends requests again.
//
// A request that is not sent fails with one of these errors. A *url.Error around it
// changes nothing for errors.Is and errors.As.
//
//	*LimitedError (ErrLimited)  its slot lies past MaxWait or the deadline; it took nothing
//	the context's error         its context ended in the wait; the slot is given back.
//	                            The context's cause matches too
//	*StoreError (ErrStore)      the store failed
//	*ConfigError                its cost is negative, or the Transport is a zero one
//	Key's or Cost's own error
//
// The Timeout of an http.Client is a deadline too. The deprecated Cancel field of a
// request does not end a wait. Each call of RoundTrip is charged, a redirect with the
// key of its new URL. Code that retries belongs around a Transport: inside, all its
// attempts are charged once, like those of net/http after a kept connection died.
//
// # Upstream limits
//
// A Transport reads each response, by package upstream, and slows the request's key down
// for all processes that share the store, never beyond the limiter's MaxPause:
//
//	a refusal with a time          a pause (see Limiter.Pause)
//	… again, soon after a pause    half the rate too (see store.Cut)
//	a refusal without a time       half the rate
//	nothing left of our limit      a pause until its reset
//	a lower limit than ours, or    the units left are spread evenly
//	much less left than we know
//
// A refusal always pauses its key, and Key decides how wide that is. With Levels it slows
// down one level: by the limiter's Name, by the scope that the response names, or by the
// number of units; otherwise the narrowest. A refusal about calls under way slows nothing
// down. A success pauses its key only for a limit of ours: the same name, or the same
// number of units, or a few more, in no other window. The budget of another resource
// pauses nothing. Several keys of one host never pause each other.
//
// The key is never used faster than its limits allow. While the upstream agrees with the
// limits, this costs no call of the store, except a look when others seem to have used
// much. A caller waits for these calls, and for those of Settle, for 20 ms at most. A
// store that is no [store.Braker] does none of it.
//
// # Several levels
//
// With Levels a request needs a slot of every limit. It waits on the narrowest first
// and holds nothing of the wider ones meanwhile. When one refuses, it gives back the
// others. LimitedError.Scope names the limiter that refused. A wait or a pause of a wide
// key brings requests of a narrow key closer together: give the wide limit room. Waiting
// requests keep their places in flight on narrow levels. If two limiters have InFlight, all
// Transports need one order: otherwise two requests may wait for each other until MaxWait.
//
// # Margin
//
// A Transport counts departures, a provider counts arrivals. [Outbound] returns a limit
// with a margin for the variation of the time on the way. A GCRA limit without a Burst,
// such as [Per] returns, is refused: see [Algorithm] for the maximum of each algorithm in
// one period.
type Transport struct {
	levels   []transportLevel // narrowest first; none in a zero Transport
	base     http.RoundTripper
	maxWait  time.Duration // of all waits of a request together; 0: no bound
	refuse   bool
	upstream listener
}

// NewTransport returns a Transport, or a *[ConfigError] that names the wrong
// field. It does no I/O.
func NewTransport(cfg TransportConfig) (*Transport, error) {
	first := TransportLevel{cfg.Limiter, cfg.Key, cfg.Cost, cfg.SkipNoKey, cfg.Settle}
	levels, unit, err := transportLevels(first, cfg.Levels, cfg.MaxWait == 0)
	if err != nil {
		return nil, err
	}
	switch {
	case cfg.MaxWait < 0:
		return nil, &store.ConfigError{Field: "TransportConfig.MaxWait", Want: "0 or more", Got: cfg.MaxWait.String()}
	case cfg.MaxWait > 0 && cfg.Refuse:
		return nil, &store.ConfigError{Field: "TransportConfig.MaxWait", Want: "0 with Refuse, which never waits", Got: cfg.MaxWait.String()}
	}
	cfg.Upstream = cmp.Or(cfg.Upstream, new(upstream.Reader))
	if err := cfg.Upstream.Check(); err != nil {
		return nil, &store.ConfigError{Field: "TransportConfig.Upstream", Want: "a valid reader", Got: err.Error()}
	}
	return &Transport{
		levels: levels, base: cfg.Base, maxWait: cmp.Or(cfg.MaxWait, cfg.Limiter.maxWait), refuse: cfg.Refuse,
		upstream: listener{reader: heed.Reader(cfg.Upstream, unit), ignore: cfg.IgnoreUpstream},
	}, nil
}

// RoundTrip sends the request when its limits allow it. As http.RoundTripper
// demands, it never changes the request, and the body is closed in every case.
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
	var two [2]booking // No allocation for one level, or two.
	booked, err := admit(t.levels, req, t.maxWait, t.refuse, two[:0])
	if err != nil {
		return nil, deadline.WithCause(req.Context(), err)
	}
	sent = true // from here on the body is the base's to close
	return t.send(base, req, booked)
}

// CloseIdleConnections closes the base's idle connections, if it knows how to.
func (t *Transport) CloseIdleConnections() {
	base, _ := t.resolveBase()
	if c, ok := base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// resolveBase returns the RoundTripper for the present request.
func (t *Transport) resolveBase() (http.RoundTripper, error) {
	if len(t.levels) == 0 {
		return nil, &store.ConfigError{Field: "Transport", Want: "one made by NewTransport", Got: "a zero one"}
	}
	if t.base != nil {
		return t.base, nil
	}
	base := http.DefaultTransport
	if base == nil || base == http.RoundTripper(t) {
		// Without this a program that makes t the default would recurse for ever.
		return nil, &store.ConfigError{Field: "TransportConfig.Base", Want: "a base when http.DefaultTransport is this Transport or nil", Got: "nil"}
	}
	return base, nil
}

// send sends an admitted request, and applies its outcome to the limits.
func (t *Transport) send(base http.RoundTripper, req *http.Request, booked []booking) (resp *http.Response, err error) {
	concluded := false
	var body io.ReadCloser // no io.Closer: an interface conversion costs a lookup
	// Deferred, so that a panic in the base, a Dialect or Settle keeps nothing in
	// flight or under way, and no body open.
	defer func() {
		if concluded {
			return
		}
		release(booked)
		if body != nil {
			_ = body.Close()
		}
	}()
	resp, err = func() (*http.Response, error) {
		t.upstream.count(booked, 1)
		defer t.upstream.count(booked, -1)
		return base.RoundTrip(req)
	}()
	if (resp == nil) == (err == nil) {
		resp, err = nil, breach(base, resp, err)
	}
	if err == nil {
		body = resp.Body // without later wrappers
		t.upstream.heed(req, booked, resp)
	}
	conclude(req, booked, resp, err)
	concluded = true
	return resp, err
}

// breach returns the error of a base that broke http.RoundTripper's contract: it returned
// both a response and an error, or neither.
func breach(base http.RoundTripper, resp *http.Response, err error) error {
	if err == nil {
		return fmt.Errorf("weir: transport: the base %T returned neither a response nor an error", base)
	}
	if resp.Body != nil {
		_ = resp.Body.Close()
	}
	return err
}
