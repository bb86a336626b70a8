package middleware

import (
	"net/http"
	"slices"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/answer"
)

// HeaderStyle is a family of rate headers.
type HeaderStyle uint8

const (
	// HeadersDraft11 sets RateLimit-Policy and RateLimit, as in
	// draft-ietf-httpapi-ratelimit-headers-11: every limit of the key in order. It
	// adds to the lists of other limiters on the way.
	//
	//	q  units at once: the rate of a window, the burst of a GCRA limit
	//	w  seconds until q units are available again: the window, or the time that
	//	   refills the burst; rounded up, and left out below one second
	//	r  units left
	//	t  seconds until the limit is as if never used, rounded up
	//
	// A client that keeps to q units in w seconds is never refused, except under a
	// SlidingCounter, which counts units of one window through the next, less and
	// less. There t is up to twice w. Otherwise t is at most w, and r at most q,
	// unless the key is paused or Settle made debt. On a refusal Retry-After takes
	// precedence over t.
	HeadersDraft11 HeaderStyle = iota
	// HeadersX sets X-RateLimit-Limit, X-RateLimit-Remaining and
	// X-RateLimit-Reset, the last in seconds from now, of the binding limit
	// alone. Of several limiters on the way it shows the refusing one, otherwise the
	// one with the least remaining.
	HeadersX
	// HeadersXEpoch is HeadersX with an X-RateLimit-Reset in seconds since 1970
	// UTC, by this process's clock.
	HeadersXEpoch
	// HeadersDraft6 sets RateLimit-Limit, RateLimit-Remaining and
	// RateLimit-Reset (seconds from now) of the binding limit, as HeadersX does,
	// and RateLimit-Policy with every limit in the form of that draft, as
	// `2;w=60`: for clients that can't read HeadersDraft11 yet.
	HeadersDraft6
	// HeadersNone sets none.
	HeadersNone

	headerStyles
)

var headerStyleNames = [headerStyles]string{"draft11", "x", "x_epoch", "draft6", "none"}

// String returns the style in lower case with underscores.
func (s HeaderStyle) String() string {
	if s >= headerStyles {
		return "unknown"
	}
	return headerStyleNames[s]
}

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
		s.policies = answer.PoliciesDraft6(own)
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
		d.SetX(h, v)
	case HeadersXEpoch:
		d.SetXEpoch(h, v, time.Now())
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
