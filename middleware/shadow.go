package middleware

import (
	"net/http"

	"github.com/goweir/weir"
)

// shadow has the limiters in shadow decide about a request that the enforced
// ones let pass: one that they refuse would cost the others nothing either.
func (g *Guard) shadow(r *http.Request, key string, cost int64) {
	for _, l := range g.cfg.Shadows {
		if _, err := l.AllowN(r.Context(), key, cost); err != nil && r.Context().Err() == nil {
			g.tell(r, err)
		}
	}
}

// validateShadows reports what is wrong with the limiters in shadow beside others,
// some of which may be nil.
func validateShadows(others, shadows []*weir.Limiter) error {
	names := map[string]bool{}
	for _, l := range others {
		if l != nil {
			names[l.Name()] = true
		}
	}
	for _, l := range shadows {
		if want, got := unfit(l); want != "" {
			return invalid("Shadows", want, got)
		}
		if names[l.Name()] {
			return invalid("Shadows", "limiters with names of their own", `"`+l.Name()+`"`)
		}
		names[l.Name()] = true
	}
	return nil
}
