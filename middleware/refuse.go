package middleware

import (
	"net/http"
	"strconv"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/answer"
	"github.com/goweir/weir/internal/deadline"
)

// The refusals that no limit causes. See keyOf for requests without a key.
var (
	blocked     = answer.Problem{Status: http.StatusForbidden, Detail: "The sender of the request is blocked."}
	broken      = answer.Problem{Status: http.StatusInternalServerError, Detail: "The request could not be checked against its limits."}
	unavailable = answer.Problem{Status: http.StatusServiceUnavailable, Detail: "The request cannot be checked against its limits right now."}
	// ended answers a client whose request the server gave too little time, if the
	// client is still there. It is no limit, so never 429, and HTTP has no 499.
	ended = answer.Problem{Status: http.StatusServiceUnavailable, Detail: "The request ended before it was checked against its limits."}
)

// refuse answers with p. In shadow the request passes instead.
func (cfg *Config) refuse(w http.ResponseWriter, r *http.Request, p *answer.Problem) (passes bool) {
	if cfg.Shadow {
		return true
	}
	if p.Status == http.StatusUnauthorized && cfg.Challenge != "" {
		w.Header().Add("Www-Authenticate", cfg.Challenge)
	}
	p.Write(w, r)
	return false
}

// fail refuses a request that met an error, without the error's text.
func (cfg *Config) fail(w http.ResponseWriter, r *http.Request, p *answer.Problem, err error) (passes bool) {
	if deadline.Ended(r.Context()) != nil {
		return cfg.refuse(w, r, &ended)
	}
	cfg.OnError(r, err)
	return cfg.refuse(w, r, p)
}

// LimitedWriter is a ResponseWriter that gets the decision when a limit refuses.
// Adapters to other protocols than HTTP give one to [Guard.Check], to answer with
// more than the headers and the problem body say.
type LimitedWriter interface {
	http.ResponseWriter
	// Limited is called once, after the rate headers are set and before the rest of
	// the answer. It writes nothing. The violations are the problem body's
	// violated-policies: none when the key is paused.
	Limited(d weir.Decision, violated []Violation)
}

// Violation is a limit that refuses.
type Violation struct {
	Policy  string // the limit's name, as clients read it
	Limiter string // the name of its Limiter
}

// limited answers a request that a limit refused. Its rate headers are set.
func (cfg *Config) limited(w http.ResponseWriter, r *http.Request, d *answer.Decision) {
	if to, ok := w.(LimitedWriter); ok {
		var violated []Violation
		for policy, limiter := range d.Violated() {
			violated = append(violated, Violation{policy, limiter})
		}
		to.Limited(*d.Decision, violated)
	}
	h, v := w.Header(), new(answer.Values)
	if after := d.RetryAfterSeconds(); after != "" {
		v.Set(h, "Retry-After", after)
	}
	if cfg.OnLimited != nil {
		v.Set(h, "Cache-Control", "no-store")
		cfg.OnLimited(w, r, *d.Decision)
		return
	}
	d.WriteLimited(w, r, v, cfg.Penalty.Limiter != nil && cfg.isOwn(d.Decision))
}

// isOwn reports whether a limit of the request's own key binds.
func (cfg *Config) isOwn(d *weir.Decision) bool {
	return len(cfg.Levels) == 0 || d.Scope == cfg.Limiter.Name()
}

// warn calls OnWarning if d is near a limit, or over a limit that refuses nothing.
func (cfg *Config) warn(w http.ResponseWriter, r *http.Request, d *answer.Decision) {
	if cfg.OnWarning == nil {
		return
	}
	if about, ok := d.Warning(); ok {
		cfg.OnWarning(w, r, about)
	}
}

// WarnByHeader is a Config.OnWarning that adds the header X-RateLimit-Warning. Its
// value is "near" or "over" with the limit's policy as a parameter:
//
//	X-RateLimit-Warning: near;policy="100-in-1m"
//
// A request with several warnings gets several such lines.
func WarnByHeader(w http.ResponseWriter, _ *http.Request, d weir.Decision) {
	state := "over"
	if d.Allowed {
		state = "near"
	}
	w.Header().Add("X-RateLimit-Warning", state+";policy="+strconv.Quote(d.Limit.Policy()))
}
