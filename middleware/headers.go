package middleware

import (
	"net/http"
	"slices"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/answer"
)

type headers struct {
	style    HeaderStyle
	expose   bool
	policies string // the RateLimit-Policy of the limiter's own limits
	pks      *answer.Partitions
}

func newHeaders(cfg *Config, own []weir.Limit) headers {
	s := headers{style: cfg.Headers, expose: cfg.ExposeHeaders, pks: answer.NewPartitions(cfg.PartitionSecret)}
	switch s.style {
	case HeadersDraft11:
		s.policies = answer.Policies(own)
	case HeadersDraft6:
		s.policies = answer.PoliciesDraft6([]answer.Level{{Limits: own}})
	}
	return s
}

// set sets the headers of a decision. own: the decision is about the limiter's own limits.
func (s *headers) set(h http.Header, v *answer.Values, d *answer.Decision, own bool) {
	policies := ""
	if own {
		policies = s.policies
	}
	switch s.style {
	case HeadersDraft11:
		d.SetDraft11(h, v, policies, s.pks)
	case HeadersX:
		d.SetX(h, v, time.Time{})
	case HeadersXEpoch:
		d.SetX(h, v, time.Now())
	case HeadersDraft6:
		d.SetDraft6(h, v, policies)
	}
	if names := exposed[s.style]; s.expose && !slices.Contains(h[headerExpose], names) {
		h[headerExpose] = append(h[headerExpose], names)
	}
}

// headerExpose shows scripts of other origins the headers that it lists.
const headerExpose = "Access-Control-Expose-Headers"

// exposed are the names that ExposeHeaders lists, by style.
var exposed = [...]string{
	HeadersDraft11: "RateLimit, RateLimit-Policy, Retry-After",
	HeadersX:       "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After",
	HeadersXEpoch:  "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After",
	HeadersDraft6:  "RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, RateLimit-Policy, Retry-After",
	HeadersNone:    "Retry-After",
}
