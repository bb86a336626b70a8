package middleware

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/goweir/weir"
)

// Guard is the middleware without a framework's way of calling handlers: what
// adapters are made of, so that nothing is decided in them. It is safe for
// concurrent use.
type Guard struct {
	cfg      Config
	own      []weir.Limit // the limiter's, with their names derived once
	policies string       // the RateLimit-Policy of own
	levels   [][]weir.Limit
	waiting  atomic.Int64 // requests that may be waiting, see Delay
	found    atomic.Bool  // a request had an identity
	missed   atomic.Int64 // requests before that

	partitions sync.Pool // of *partitioner
}

// NewGuard returns a Guard, or a *[weir.ConfigError] that names the wrong
// field. It does no I/O.
func NewGuard(cfg Config) (*Guard, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	own := namedLimits(cfg.Limiter)
	g := &Guard{cfg: cfg, own: own, policies: string(appendPolicies(nil, own, ""))}
	if cfg.Headers == HeadersDraft6 {
		g.policies = string(appendOldPolicies(nil, own))
	}
	g.cfg.Shadows = slices.Clone(cfg.Shadows)
	g.cfg.Levels = slices.Clone(cfg.Levels)
	for i := range cfg.Levels {
		g.levels = append(g.levels, namedLimits(cfg.Levels[i].Limiter))
	}
	g.cfg.PartitionSecret = bytes.Clone(cfg.PartitionSecret)
	g.partitions.New = g.newPartitioner
	return g, nil
}

// namedLimits returns a limiter's limits with their names derived.
func namedLimits(limiter *weir.Limiter) []weir.Limit {
	own := limiter.Limits()
	for i, l := range own {
		own[i] = l.WithName(l.Policy())
	}
	return own
}

// Check decides whether the handler may run. If so it sets the rate headers on
// w and returns true and the request to serve; defer Done before that, and, if the
// Guard Settles, Settle or what Record returns. Otherwise it has answered and
// returns false. It never wraps w. With Config.Delay it may wait.
func (g *Guard) Check(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	if g.cfg.Skip != nil && g.cfg.Skip(r) || !g.cfg.CountPreflights && preflight(r) {
		return r, true
	}
	key, ok := g.keyOf(w, r)
	if key == "" {
		return r, ok
	}
	switch lists := &g.cfg.Lists; {
	case lists.Block != nil && lists.Block(key):
		return g.refuse(w, r, &blocked)
	case lists.Allow != nil && lists.Allow(key):
		return r, true
	}
	switch key = bounded(key); {
	case len(g.cfg.Levels) > 0:
		return g.decideLevels(w, r, key)
	case g.passed(r.Context(), g.cfg.Limiter, key):
		return r, true
	}
	return g.decide(w, r, key)
}

// decide asks the limiter about a request whose key is known.
func (g *Guard) decide(w http.ResponseWriter, r *http.Request, key string) (*http.Request, bool) {
	cost, err := g.cost(r)
	if err != nil {
		return g.fail(w, r, &broken, err)
	}
	m := &mark{Context: r.Context(), guard: g, key: key}
	var d weir.Decision // large, so that it is filled in where it is
	limits, err := g.take(r, m, cost, &d)
	return g.answer(w, r, m, limits, &d, err)
}

// answer does what was decided about a request, or what is due when nothing was.
func (g *Guard) answer(w http.ResponseWriter, r *http.Request, m *mark, limits []weir.Limit, d *weir.Decision, err error) (*http.Request, bool) {
	switch {
	case err == nil:
	case !errors.Is(err, weir.ErrStore):
		return g.fail(w, r, &broken, err)
	case g.cfg.OnStoreFailure == FailClosed:
		return g.fail(w, r, &unavailable, err)
	default:
		m.open = true
		return g.open(w, r, m, err)
	}
	switch {
	case g.cfg.Shadow && !d.Allowed:
		return r, true // without the mark: a mount further in may refuse it
	case !g.cfg.Shadow:
		g.setHeaders(w.Header(), m, limits, d)
	}
	if !d.Allowed {
		g.limit(w, r, m, limits, d)
		return r, false
	}
	return m.on(r), true
}

// cost returns what a request takes. An error is a mistake, whatever it matches.
func (g *Guard) cost(r *http.Request) (int64, error) {
	if g.cfg.Cost == nil {
		return 1, nil
	}
	return g.cfg.Cost(r)
}

// take charges the request, sets d to what was decided, and returns the limits it
// was charged on. That nothing could be decided is a weir.ErrStore.
func (g *Guard) take(r *http.Request, m *mark, cost int64, d *weir.Decision) (limits []weir.Limit, err error) {
	limits = g.own
	if g.cfg.Limits != nil {
		if limits, err = g.cfg.Limits(r); err != nil {
			return nil, undecided(err)
		}
	}
	err = g.charge(r, m, cost, limits, d)
	if err == nil && d.Reason == weir.Limited && g.punish(r, m.key) {
		err = g.charge(r, m, cost, limits, d) // refused, with the block's end
	}
	if err == nil && d.Allowed {
		g.shadow(r, m.key, cost)
	}
	return limits, err
}

// charge has the limiter decide.
func (g *Guard) charge(r *http.Request, m *mark, cost int64, limits []weir.Limit, d *weir.Decision) (err error) {
	switch correctable := g.cfg.Settle != nil || g.cfg.Delay.Max > 0; {
	case correctable && g.cfg.Limits == nil:
		*d, err = g.reserve(r, m, cost, nil) // own differ from the limiter's in their names
	case correctable && len(limits) > 0:
		*d, err = g.reserve(r, m, cost, limits)
	case g.cfg.Limits == nil:
		*d, err = g.cfg.Limiter.AllowN(r.Context(), m.key, cost)
	default:
		*d, err = g.cfg.Limiter.AllowLimits(r.Context(), m.key, cost, limits)
	}
	return err
}

// open lets a request pass of which nothing could be decided, unless nobody
// waits for the answer any more.
func (g *Guard) open(w http.ResponseWriter, r *http.Request, m *mark, err error) (*http.Request, bool) {
	if r.Context().Err() != nil {
		return g.refuse(w, r, &ended)
	}
	g.tell(r, err)
	return m.on(r), true
}

// fail answers a request that met an error, without the error's text.
func (g *Guard) fail(w http.ResponseWriter, r *http.Request, p *problem, err error) (*http.Request, bool) {
	if r.Context().Err() != nil {
		return g.refuse(w, r, &ended)
	}
	g.tell(r, err)
	return g.refuse(w, r, p)
}

// refuse answers with p, or lets the request pass when in shadow.
func (g *Guard) refuse(w http.ResponseWriter, r *http.Request, p *problem) (*http.Request, bool) {
	if g.cfg.Shadow {
		return r, true
	}
	p.write(w, r)
	return r, false
}

func (g *Guard) tell(r *http.Request, err error) {
	if g.cfg.OnError != nil {
		g.cfg.OnError(r, err)
	}
}

// undecided makes the failure of a plan lookup one of the store: both mean that
// nothing is known. A wrong configuration stays one.
func undecided(err error) error {
	if errors.Is(err, weir.ErrConfig) {
		return err
	}
	return &weir.StoreError{Op: "limits", Err: err}
}

// preflight reports whether r is a browser's question about CORS, which it asks
// before, and on behalf of, the request that is counted.
func preflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && len(r.Header["Origin"]) > 0 &&
		len(r.Header["Access-Control-Request-Method"]) > 0
}
