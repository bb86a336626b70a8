package weir

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"
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
	// MaxWait is the longest a request waits for its slot, in place of the
	// limiter's MaxWait. 0: the limiter's. It can't be combined with Refuse.
	MaxWait time.Duration
	// Refuse makes a request that can't leave now fail now. False: it waits.
	Refuse bool
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
// The Timeout of an http.Client is such a deadline, so it covers the wait. The
// deprecated Cancel field of a request does not end a wait.
//
// # Every attempt counts
//
// Each call of RoundTrip is charged, a redirect with the key of where it leads.
// So a Transport belongs inside whatever retries, as the Transport of the
// client that the retrying code calls: around it, a request that is tried four
// times would be charged once. What net/http sends again by itself, because a
// connection turned out to be dead, happens further inside and is not charged.
//
// One Transport may be the Base of another, to hold to several limiters. The
// outer one's units are spent even if the inner one then refuses.
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
	limiter *Limiter
	base    http.RoundTripper
	key     KeyFunc
	cost    func(*http.Request) (int64, error)
	maxWait time.Duration
	refuse  bool
}

// NewTransport returns a Transport, or a *[ConfigError] that names the wrong
// field. It does no I/O.
func NewTransport(cfg TransportConfig) (*Transport, error) {
	switch {
	case cfg.Limiter == nil:
		return nil, &ConfigError{Field: "TransportConfig.Limiter", Want: "a limiter", Got: "nil"}
	case cfg.Limiter.cfg.Store == nil:
		return nil, &ConfigError{Field: "TransportConfig.Limiter", Want: "a limiter made by New", Got: "a zero one"}
	case cfg.MaxWait < 0:
		return nil, &ConfigError{Field: "TransportConfig.MaxWait", Want: "0 or more", Got: cfg.MaxWait.String()}
	case cfg.MaxWait > 0 && cfg.Refuse:
		return nil, &ConfigError{Field: "TransportConfig.MaxWait", Want: "0 with Refuse, which never waits", Got: cfg.MaxWait.String()}
	}
	t := &Transport{
		limiter: cfg.Limiter,
		base:    cfg.Base,
		key:     cfg.Key,
		cost:    cfg.Cost,
		maxWait: cfg.MaxWait,
		refuse:  cfg.Refuse,
	}
	if t.key == nil {
		t.key = KeyHost()
	}
	if t.maxWait == 0 {
		t.maxWait = cfg.Limiter.cfg.MaxWait
	}
	return t, nil
}

// RoundTrip sends the request when the limiter allows it. As http.RoundTripper
// demands, it never changes the request and its body is closed in every case.
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
	if err := t.admit(req); err != nil {
		return nil, err
	}
	sent = true // from here on the body is the base's to close
	return send(base, req)
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
	if t.limiter == nil {
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

// admit returns nil when the request may leave.
func (t *Transport) admit(req *http.Request) error {
	key, err := t.key(req)
	if err == nil {
		err = t.limiter.checkKey(key)
	}
	if err != nil {
		return fmt.Errorf("weir: transport: key: %w", err)
	}
	cost := int64(1)
	if t.cost != nil {
		if cost, err = t.cost(req); err != nil {
			return fmt.Errorf("weir: transport: cost: %w", err)
		}
		if cost < 0 {
			return &ConfigError{Field: "TransportConfig.Cost", Want: "a cost of 0 or more", Got: strconv.FormatInt(cost, 10)}
		}
	}
	if t.refuse {
		return t.allow(req.Context(), key, cost)
	}
	return t.limiter.wait(req.Context(), key, cost, t.maxWait)
}

func (t *Transport) allow(ctx context.Context, key string, cost int64) error {
	d, err := t.limiter.AllowN(ctx, key, cost)
	if err != nil {
		return err
	}
	if !d.Allowed {
		return t.limiter.limited(key, d, BoundNone)
	}
	return nil
}

// send makes a base that returns both a response and an error, or neither,
// keep to http.RoundTripper's contract all the same.
func send(base http.RoundTripper, req *http.Request) (*http.Response, error) {
	resp, err := base.RoundTrip(req)
	switch {
	case resp != nil && err != nil:
		if resp.Body != nil {
			_ = resp.Body.Close()
		}
		return nil, err
	case resp == nil && err == nil:
		return nil, fmt.Errorf("weir: transport: the base %T returned neither a response nor an error", base)
	}
	return resp, err
}
