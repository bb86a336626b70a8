package middleware

import (
	"net/http"

	"github.com/goweir/weir"
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

// tellWriter tells the writer of a refusal, if it wants to know.
func (g *Guard) tellWriter(w http.ResponseWriter, m *mark, limits []weir.Limit, d *weir.Decision) {
	if to, ok := w.(LimitedWriter); ok {
		to.Limited(*d, g.violations(m, limits, d))
	}
}

// violations returns what appendViolated appends, with whose limits they are.
func (g *Guard) violations(m *mark, limits []weir.Limit, d *weir.Decision) []Violation {
	if d.Reason == weir.Paused {
		return nil
	}
	if !known(d, len(limits)) {
		limiter := g.cfg.Limiter.Name()
		if m.levels != nil && d.Scope != "" {
			limiter = d.Scope
		}
		return []Violation{{d.Limit.Policy(), limiter}}
	}
	var all []Violation
	for i := range limits {
		if violates(d, i) {
			all = append(all, Violation{limits[i].Policy(), g.limiterOf(m, i)})
		}
	}
	return all
}

// limiterOf returns the name of the limiter that the i-th of a request's limits is
// of.
func (g *Guard) limiterOf(m *mark, i int) string {
	if m.levels != nil {
		for level, n := range m.levels.counts {
			if i < n {
				return m.levels.list[level].Limiter.Name()
			}
			i -= n
		}
	}
	return g.cfg.Limiter.Name()
}
