package weirtest

import (
	"fmt"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/httptoken"
)

// Dialect writes what a provider says of its limits into the headers of a
// response, refused or not. The functions below are the built-in ones; any
// other function will do. It is called from many goroutines at once.
//
// Those that can speak of one limit only speak of the tightest (see
// [Answer.Tightest]). As a limit's number they give the most units that it
// admits at once, which for a token bucket is the burst, so that what remains
// is never more. Without limits they say nothing.
type Dialect func(h http.Header, a Answer)

// Draft11 is that of draft-ietf-httpapi-ratelimit-headers-11, RateLimit-Policy
// and RateLimit as structured fields, with every limit by its policy name.
func Draft11(h http.Header, a Answer) {
	var policies, states []string
	for _, s := range a.Limits {
		name := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s.Limit.Policy()) + `"`
		policies = append(policies, name+";q="+sfInteger(s.Limit.Max())+";w="+sfInteger(windowSeconds(s.Limit)))
		states = append(states, name+";r="+sfInteger(s.Remaining)+";t="+sfInteger(divUp(s.ResetAfter, time.Second)))
	}
	if len(a.Limits) > 0 {
		h.Set("RateLimit-Policy", strings.Join(policies, ", "))
		h.Set("RateLimit", strings.Join(states, ", "))
	}
}

// Draft07 is that of draft 07: "limit=100, remaining=0, reset=5".
func Draft07(h http.Header, a Answer) {
	if s, ok := a.Tightest(); ok {
		h.Set("RateLimit", fmt.Sprintf("limit=%d, remaining=%d, reset=%d", s.Limit.Max(), s.Remaining, divUp(s.ResetAfter, time.Second)))
		h.Set("RateLimit-Policy", oldPolicies(a))
	}
}

// Draft06 is that of drafts 03 to 06: RateLimit-Limit, RateLimit-Remaining and
// RateLimit-Reset in seconds, with RateLimit-Policy.
func Draft06(h http.Header, a Answer) {
	if s, ok := a.Tightest(); ok {
		three(h, "RateLimit-", s, divUp(s.ResetAfter, time.Second))
		h.Set("RateLimit-Policy", oldPolicies(a))
	}
}

// XRateLimitEpoch is X-RateLimit-Limit, X-RateLimit-Remaining and
// X-RateLimit-Reset, the last in seconds since the Unix epoch.
func XRateLimitEpoch(h http.Header, a Answer) {
	if s, ok := a.Tightest(); ok {
		three(h, "X-RateLimit-", s, a.epochAfter(s.ResetAfter))
	}
}

// XRateLimitDelta is XRateLimitEpoch with X-RateLimit-Reset in seconds from now.
func XRateLimitDelta(h http.Header, a Answer) {
	if s, ok := a.Tightest(); ok {
		three(h, "X-RateLimit-", s, divUp(s.ResetAfter, time.Second))
	}
}

// GitHub is XRateLimitEpoch with X-RateLimit-Used and X-RateLimit-Resource,
// which is the limit's policy name. GitHub itself refuses with Status 403 and
// RetryAfterNone.
func GitHub(h http.Header, a Answer) {
	if s, ok := a.Tightest(); ok {
		XRateLimitEpoch(h, a)
		h.Set("X-RateLimit-Used", decimal(s.used()))
		h.Set("X-RateLimit-Resource", s.Limit.Policy())
	}
}

// OpenAI is x-ratelimit-limit-, x-ratelimit-remaining- and x-ratelimit-reset-
// followed by the limit's name, the last as a Go duration in whole
// milliseconds. A limit without a name is "requests" when it is the first and
// "tokens" when it is the second; one whose name no header can have is left out.
// OpenAI itself says RetryAfterMillis.
func OpenAI(h http.Header, a Answer) {
	for i, s := range a.Limits {
		name := s.Limit.Policy()
		if usual := []string{"requests", "tokens"}; s.Limit.Name == "" && i < len(usual) {
			name = usual[i]
		}
		if !httptoken.Is(name) {
			continue // no header can have that name
		}
		h.Set("X-RateLimit-Limit-"+name, decimal(s.Limit.Max()))
		h.Set("X-RateLimit-Remaining-"+name, decimal(s.Remaining))
		h.Set("X-RateLimit-Reset-"+name, s.ResetAfter.Truncate(time.Millisecond).String())
		if s.ResetAfter%time.Millisecond > 0 {
			h.Set("X-RateLimit-Reset-"+name, (s.ResetAfter.Truncate(time.Millisecond) + time.Millisecond).String())
		}
	}
}

// Shopify is X-Shopify-Shop-Api-Call-Limit: what is used of what there is, as
// "32/40". Shopify itself is a token bucket and says RetryAfterFraction.
func Shopify(h http.Header, a Answer) {
	if s, ok := a.Tightest(); ok {
		h.Set("X-Shopify-Shop-Api-Call-Limit", decimal(s.used())+"/"+decimal(s.Limit.Max()))
	}
}

// three sets the three headers that most dialects have.
func three(h http.Header, prefix string, s LimitState, reset int64) {
	h.Set(prefix+"Limit", decimal(s.Limit.Max()))
	h.Set(prefix+"Remaining", decimal(s.Remaining))
	h.Set(prefix+"Reset", decimal(reset))
}

// oldPolicies lists the limits as the drafts before structured policies did.
func oldPolicies(a Answer) string {
	var all []string
	for _, s := range a.Limits {
		all = append(all, decimal(s.Limit.Max())+";w="+decimal(windowSeconds(s.Limit)))
	}
	return strings.Join(all, ", ")
}

// windowSeconds is the time for Limit.Max units, in seconds rounded up.
func windowSeconds(l weir.Limit) int64 {
	window := new(big.Int).Mul(big.NewInt(int64(l.Period)), big.NewInt(l.Max()))
	return divUp(time.Duration(divideUp(window, l.Rate).Int64()), time.Second)
}

// sfInteger writes an Integer of RFC 9651, which has at most 15 digits.
func sfInteger(n int64) string { return strconv.FormatInt(min(n, 999_999_999_999_999), 10) }
