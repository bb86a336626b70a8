package middleware

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/answer"
	"github.com/goweir/weir/internal/deadline"
)

// Guard is the middleware without a framework's way of calling handlers, for adapters. It
// is safe for concurrent use. A zero Guard answers every request with 500.
type Guard struct {
	cfg     Config
	charger charger
	headers headers
}

// NewGuard returns a Guard, or a [weir.ConfigError] for a wrong field. It does no I/O.
func NewGuard(cfg Config) (*Guard, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	g := &Guard{cfg: cfg}
	if cfg.OnError == nil {
		g.cfg.OnError = (&errorLog{limiter: cfg.Limiter.Name(), closed: cfg.OnStoreFailure == FailClosed, since: time.Now()}).log
	}
	if cfg.Shadow {
		g.cfg.Delay = Delay{}
	}
	g.cfg.Shadows = slices.Clone(cfg.Shadows)
	g.charger.init(&g.cfg)
	g.headers = newHeaders(&g.cfg, g.charger.levels[0].limits)
	return g, nil
}

// Check decides whether the handler may run. If so it sets the rate headers on w
// and returns true and the request to serve: defer Done before serving it, and, if
// the Guard Settles, Settle or the function that Record returns. Otherwise Check has
// answered and returns false. It never wraps w. With Config.Delay it may wait.
func (g *Guard) Check(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	if g.cfg.Key == nil { // NewGuard did not make it.
		return r, g.cfg.refuse(w, r, &broken)
	}
	if g.cfg.Skip != nil && g.cfg.Skip(r) || g.cfg.PassPreflights && preflight(r) {
		return r, true
	}
	key, passes := g.charger.identify(w, r)
	if key == "" {
		return r, passes
	}
	switch lists := &g.cfg.Lists; {
	case lists.Block != nil && lists.Block(key):
		return r, g.cfg.refuse(w, r, &blocked)
	case lists.Allow != nil && lists.Allow(key):
		return r, true
	}
	key = bounded(key)
	if len(g.charger.levels) == 1 && hasPassed(r.Context(), g.cfg.Limiter, key, g.cfg.OnStoreFailure) {
		return r, true
	}
	return g.decide(w, r, key)
}

// decide asks the limiters about a request whose key is known.
func (g *Guard) decide(w http.ResponseWriter, r *http.Request, key string) (*http.Request, bool) {
	m := &mark{Context: r.Context()}
	var room [1]answer.Level
	named, p, err := g.charger.levelsOf(r, m, key, room[:0])
	switch {
	case p != nil && err == nil:
		return r, g.cfg.refuse(w, r, p)
	case p != nil:
		return r, g.cfg.fail(w, r, p, err)
	case err != nil:
		return g.undecided(w, r, m, err)
	case len(m.list) == 0: // Mounts further out counted all.
		return r, true
	}
	var d weir.Decision // large, so that it is filled in where it is
	if err := g.charger.take(w, r, m, &d); err != nil {
		return g.undecided(w, r, m, err)
	}
	if len(g.charger.levels) > 1 {
		named.rename(&d)
	}
	return g.answer(w, r, m, &answer.Decision{Decision: &d, Levels: named})
}

// answer carries a decision out.
func (g *Guard) answer(w http.ResponseWriter, r *http.Request, m *mark, d *answer.Decision) (*http.Request, bool) {
	switch {
	case g.cfg.Shadow && !d.Allowed:
		g.cfg.warn(w, r, d)
		return r, true // Without the mark: a mount further in may refuse it.
	case !g.cfg.Shadow:
		g.headers.set(w.Header(), &m.values, d, g.cfg.Limits == nil && len(g.charger.levels) == 1)
	}
	if !d.Allowed {
		g.cfg.limited(w, r, d)
		return r, false
	}
	g.cfg.warn(w, r, d)
	return m.on(r), true
}

// undecided handles a request without a decision: it answers, or lets the request pass
// unless its context has ended.
func (g *Guard) undecided(w http.ResponseWriter, r *http.Request, m *mark, err error) (*http.Request, bool) {
	switch {
	case !errors.Is(err, weir.ErrStore):
		return r, g.cfg.fail(w, r, &broken, err)
	case g.cfg.OnStoreFailure == FailClosed || deadline.Ended(r.Context()) != nil:
		return r, g.cfg.fail(w, r, &unavailable, err)
	}
	g.cfg.OnError(r, err)
	m.open = true
	return m.on(r), true
}

// Done copies the uploaded form and the matched pattern from passed, the request that the
// handler got, to r. The server deletes the uploads of r, and outer handlers read its
// pattern. Call it when the handler has returned or panicked.
func (g *Guard) Done(r, passed *http.Request) {
	if r == passed {
		return
	}
	if r.MultipartForm == nil {
		r.MultipartForm = passed.MultipartForm
	}
	if r.Pattern == "" {
		r.Pattern = passed.Pattern
	}
}

// notOfPreflights are headers that no browser puts into a preflight: credentials,
// and methods that a handler may take for the request's.
var notOfPreflights = []string{"Authorization", "Cookie", "X-Http-Method-Override", "X-Method-Override", "X-Http-Method"}

// preflight reports whether r is a browser's question about CORS, which comes before
// the request that is counted. Any client can send the same.
func preflight(r *http.Request) bool {
	once := func(name string) bool { return len(r.Header[name]) == 1 && r.Header[name][0] != "" }
	return r.Method == http.MethodOptions && once("Origin") && once("Access-Control-Request-Method") &&
		r.ContentLength == 0 && len(r.TransferEncoding) == 0 &&
		!slices.ContainsFunc(notOfPreflights, func(name string) bool { return len(r.Header[name]) > 0 })
}
