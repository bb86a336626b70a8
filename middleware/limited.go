package middleware

import (
	"net/http"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/answer"
)

// LimitedWriter is a ResponseWriter that is told of the decision when a limit
// refuses: what adapters to other protocols than HTTP give to [Guard.Check], to
// answer with more than headers and a problem body say.
type LimitedWriter interface {
	http.ResponseWriter
	// Limited is called once, when the rate headers are set and nothing else of
	// the answer is. It writes nothing. The violations are those of the problem
	// body's violated-policies, none when the key is paused.
	Limited(d weir.Decision, violated []Violation)
}

// Violation is a limit that refuses.
type Violation struct {
	Policy  string // the limit's name, as clients are told it
	Limiter string // the name of the Limiter that it is of
}

// limited answers a request that a limit refused. Its rate headers are set.
func (cfg *Config) limited(w http.ResponseWriter, r *http.Request, d *answer.Decision) {
	tellWriter(w, d)
	h, v := w.Header(), new(answer.Values)
	if after := d.RetryAfterSeconds(); after != "" {
		v.Set(h, "Retry-After", after)
	}
	if cfg.OnLimited != nil {
		v.Set(h, "Cache-Control", "no-store")
		cfg.OnLimited(w, r, *d.Decision)
		return
	}
	own := len(cfg.Levels) == 0 || d.Scope == cfg.Limiter.Name()
	d.WriteLimited(w, r, v, cfg.Penalty.Limiter != nil && own)
}

// tellWriter tells the writer of a refusal, if it wants to know.
func tellWriter(w http.ResponseWriter, d *answer.Decision) {
	to, ok := w.(LimitedWriter)
	if !ok {
		return
	}
	var violated []Violation
	for policy, limiter := range d.Violated() {
		violated = append(violated, Violation{policy, limiter})
	}
	to.Limited(*d.Decision, violated)
}
