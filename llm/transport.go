package llm

import (
	"maps"
	"net/http"
	"strings"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/deadline"
	"github.com/goweir/weir/internal/httpbody"
)

// Transport is an [http.RoundTripper] that keeps all processes over one store within a
// provider's budgets. It is safe for concurrent use, and adds nothing to a request or a
// response.
//
//	before   a request books an estimate in all budgets, at one instant
//	after    the usage in its response corrects the estimate
//
// A request without a body, as for a list of models, is not counted. A request that is
// not sent fails with one of the errors of [weir.Transport], or because its body can't
// be read, or because its model has no limits. A body without a GetBody stays in
// memory, up to 16 MiB. The estimate of a request:
//
//	input    a quarter of the body's bytes, or Config.Tokens
//	output   the maximum that the request names, or Config.Output
//
// The costs of a request after its response:
//
//	usage in the body                        that
//	usage of the input alone                 that, and the estimate of the output
//	a status of 300 to 499, 503 or 529       no tokens; 408 and 499 keep the estimate
//	no connection, or not sent               nothing, and no request either
//	all else: a broken stream, no usage,     the estimate
//	another error, a body never closed
//
// Requests wait in the order of their arrival in one process, and take free units as
// they come: nothing is booked ahead, so returned units serve the next request at once.
// A request that was first in line for a minute books ahead. Calls of the background
// class give way to others (see [weir.InBackground]).
//
// A refusal pauses the model for all processes, as in a [weir.Transport]. Budgets that
// the provider's headers name for requests pause nothing.
type Transport struct {
	cfg     Config
	base    base
	budgets map[string]*budgets // of the families, and "" for all other models
}

// NewTransport returns a Transport over a store that is a [weir.Store] and settles, or
// a *[weir.ConfigError] that names the wrong field. It does no I/O.
func NewTransport(store weir.Store, cfg Config) (*Transport, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	t := &Transport{cfg: cfg, base: base{cfg.Base}, budgets: make(map[string]*budgets)}
	all := map[string]Limits{"": cfg.Limits}
	maps.Copy(all, cfg.Models)
	for family, limits := range all {
		if (limits == Limits{}) {
			continue
		}
		b, err := newBudgets(store, &cfg, family, limits, t.base)
		if err != nil {
			return nil, err
		}
		t.budgets[family] = b
	}
	return t, nil
}

// RoundTrip sends the request when its budgets allow it.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	sent, passed := req, false
	// Deferred, so that a panic of Config.Tokens does not leave the body open.
	defer func() {
		if !passed {
			closeBody(sent)
		}
	}()
	if t.budgets == nil {
		return nil, &weir.ConfigError{Field: "llm.Transport", Want: "one made by NewTransport", Got: "a zero one"}
	}
	sent, body, err := readable(req)
	if err != nil {
		return nil, deadline.WithCause(req.Context(), err)
	}
	if len(body) == 0 {
		passed = true
		return t.base.RoundTrip(sent)
	}
	b, c, err := t.read(sent, body)
	if err != nil {
		return nil, err
	}
	ctx := req.Context()
	if err := b.admit(ctx, &t.cfg, c); err != nil {
		return nil, deadline.WithCause(ctx, err)
	}
	passed = true // From here on the body is the base's to close.
	return t.send(b, c, sent, req)
}

// readable returns the beginning of a request's body, and the request to send.
func readable(req *http.Request) (*http.Request, []byte, error) {
	if req.GetBody == nil && req.Body != nil && req.Body != http.NoBody {
		return hold(req)
	}
	body, err := readBody(req)
	return req, body, err
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// CloseIdleConnections closes the base's idle connections, if it knows how to.
func (t *Transport) CloseIdleConnections() { t.base.CloseIdleConnections() }

// read estimates a request, and returns its budgets.
func (t *Transport) read(req *http.Request, body []byte) (*budgets, *call, error) {
	r, body := estimate(req, body)
	family := t.familyOf(r.Model)
	b := t.budgets[family]
	if b == nil {
		return nil, nil, noLimits(r.Model)
	}
	c := &call{key: family, in: r.Input, out: r.MaxOutput}
	if family == "" {
		c.key = "model " + r.Model
	}
	if t.cfg.Tokens != nil {
		c.in = min(max(t.cfg.Tokens(r.Model, body), 1), maxTokens) // Nothing booked is never corrected.
	}
	if c.out < 0 {
		c.out = t.cfg.Output
	}
	return b, c, nil
}

// familyOf returns the longest family that a model belongs to; "" without one.
func (t *Transport) familyOf(model string) (family string) {
	for f := range t.budgets {
		if len(f) > len(family) && strings.HasPrefix(model, f) {
			family = f
		}
	}
	return family
}

// send sends an admitted request, and settles its costs. The response names the caller's.
func (t *Transport) send(b *budgets, c *call, req, callers *http.Request) (resp *http.Response, err error) {
	ctx := req.Context()
	// Deferred for a panic of the base.
	defer func() {
		if resp == nil {
			c.fail(ctx, err)
		}
	}()
	admitted := req.WithContext(withCall(ctx, c))
	if resp, err = b.send.RoundTrip(admitted); err != nil {
		return nil, err
	}
	if resp.Request == admitted {
		resp.Request = callers
	}
	if free(resp.StatusCode) {
		b.settle(ctx, c, 0, 0)
		return resp, nil
	}
	httpbody.OnEnd(resp, true, func(end *httpbody.End) {
		if u, found := ReadUsage(t.cfg.Provider, resp, (*weir.BodyEnd)(end)); found {
			b.settle(ctx, c, u.input(t.cfg.CachedPercent), u.Output)
		}
	})
	return resp, nil
}
