package retry

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/upstream"
)

// Config is the configuration of a [Transport]. Its functions are called from
// many goroutines at once.
type Config struct {
	// Base sends the requests, usually a *weir.Transport. Required.
	Base http.RoundTripper
	// Max is the number of further attempts for one request. 0: 2.
	Max int
	// Statuses are the response statuses to try again, each 400 to 599. 429 stands for
	// every refusal by a limit. Nil: 429, 502, 503 and 504. Empty: none.
	Statuses []int
	// Budget is the share of further attempts, in percent of all requests of this
	// Transport. Ten more are in reserve. Budget ends the further attempts while
	// most requests fail. 0: 10. A Budget of 100 for each of Max has no bound.
	Budget int
	// Veto returns true to keep an outcome that would be tried again. It must not
	// read the response's body or change anything. Nil: no veto.
	Veto func(req *http.Request, resp *http.Response, err error) bool
	// Backoff bounds the first pause if the response asks for none. Each further
	// bound is twice the one before. The pause is random, up to its bound. 0:
	// 500 ms.
	Backoff time.Duration
	// MaxBackoff is the highest bound, at least Backoff. 0: 20 s, or Backoff if that is longer.
	MaxBackoff time.Duration
	// MaxWait bounds every single pause. A response that asks for a longer pause
	// is returned. 0: the MaxPause of Upstream, 15 minutes by default.
	MaxWait time.Duration
	// Upstream reads the pause from a response: the pause until the upstream's
	// limit admits again, or else the Retry-After of any status. It also recognises refusals,
	// and final responses such as a 402 (see upstream.Signal), with its Bodies by their bodies
	// too. Take the Reader of the weir.Transport if that has one. Nil: a zero Reader.
	Upstream *upstream.Reader
	// Observe is called before each further attempt, after its pause. It must not
	// change the request. Nil: no calls.
	Observe func(req *http.Request, a Attempt)
}

// New returns a Transport, or a *weir.ConfigError that names the wrong field.
func New(cfg Config) (*Transport, error) {
	wrong := func(field, want, got string) (*Transport, error) {
		return nil, &weir.ConfigError{Field: "retry.Config." + field, Want: want, Got: got}
	}
	switch {
	case cfg.Base == nil, cfg.Base == (*weir.Transport)(nil):
		return wrong("Base", "the RoundTripper that sends the requests", "nil")
	case cfg.Max < 0:
		return wrong("Max", "0 or more", strconv.Itoa(cfg.Max))
	case cfg.Budget < 0:
		return wrong("Budget", "0 or more", strconv.Itoa(cfg.Budget))
	case cfg.Backoff < 0:
		return wrong("Backoff", "0 or more", cfg.Backoff.String())
	case cfg.MaxWait < 0:
		return wrong("MaxWait", "0 or more", cfg.MaxWait.String())
	}
	for i, status := range cfg.Statuses {
		if status < 400 || status > 599 {
			return wrong("Statuses["+strconv.Itoa(i)+"]", "400 to 599", strconv.Itoa(status))
		}
	}
	if cfg.Upstream != nil {
		if err := cfg.Upstream.Check(); err != nil {
			return wrong("Upstream", "a valid reader", err.Error())
		}
	}
	t := &Transport{base: cfg.Base, max: cfg.Max, policy: newPolicy(&cfg), veto: cfg.Veto, observe: cfg.Observe}
	if t.policy.maxBackoff < t.policy.backoff {
		return wrong("MaxBackoff", "at least Backoff, "+t.policy.backoff.String(), cfg.MaxBackoff.String())
	}
	if t.max == 0 {
		t.max = 2
	}
	t.budget.fill(cfg.Budget, t.max)
	return t, nil
}

func newPolicy(cfg *Config) policy {
	p := policy{statuses: slices.Clone(cfg.Statuses), backoff: cmp.Or(cfg.Backoff, 500*time.Millisecond)}
	if cfg.Statuses == nil {
		p.statuses = []int{429, 502, 503, 504}
	}
	if cfg.Upstream != nil {
		p.upstream = *cfg.Upstream
	}
	p.maxWait = cmp.Or(cfg.MaxWait, p.upstream.MaxPause, upstream.MaxPause)
	p.upstream.MaxPause = math.MaxInt64 // a pause beyond maxWait is not shortened, but refused
	p.maxBackoff = cmp.Or(cfg.MaxBackoff, max(20*time.Second, p.backoff))
	return p
}
