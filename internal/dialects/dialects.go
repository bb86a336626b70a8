// Package dialects writes rate headers as well-known providers do, for the
// tests and examples of this repository. Each function is a Hook of a
// weirtest.ProviderConfig.
//
// A dialect that has room for one limit describes the tightest, see
// [weirtest.Answer.Tightest]. The limit's number is [weir.Limit.Max], so that the
// remaining number is never larger. Without limits a dialect sets nothing.
package dialects

import (
	"fmt"
	"math/bits"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/httptoken"
	"github.com/goweir/weir/weirtest"
)

// Dialect is the type of the functions in this package.
type Dialect = func(h http.Header, r *http.Request, a weirtest.Answer)

// Draft11 follows draft-ietf-httpapi-ratelimit-headers-11: RateLimit-Policy and
// RateLimit as structured fields, with every limit by its policy name.
func Draft11(h http.Header, _ *http.Request, a weirtest.Answer) {
	var policies, states []string
	for _, s := range a.Limits {
		name := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s.Limit.Policy()) + `"`
		policies = append(policies, name+";q="+sfInteger(s.Limit.Max())+";w="+sfInteger(windowSeconds(s.Limit)))
		states = append(states, name+";r="+sfInteger(s.Remaining)+";t="+sfInteger(seconds(s.ResetAfter)))
	}
	if len(a.Limits) > 0 {
		h.Set("RateLimit-Policy", strings.Join(policies, ", "))
		h.Set("RateLimit", strings.Join(states, ", "))
	}
}

// Draft07 follows draft 07: "limit=100, remaining=0, reset=5".
func Draft07(h http.Header, _ *http.Request, a weirtest.Answer) {
	if s, ok := a.Tightest(); ok {
		h.Set("RateLimit", fmt.Sprintf("limit=%d, remaining=%d, reset=%d", s.Limit.Max(), s.Remaining, seconds(s.ResetAfter)))
		h.Set("RateLimit-Policy", oldPolicies(a))
	}
}

// Draft06 follows drafts 03 to 06: RateLimit-Limit, RateLimit-Remaining and
// RateLimit-Reset in seconds, with RateLimit-Policy.
func Draft06(h http.Header, _ *http.Request, a weirtest.Answer) {
	if s, ok := a.Tightest(); ok {
		three(h, "RateLimit-", s, seconds(s.ResetAfter))
		h.Set("RateLimit-Policy", oldPolicies(a))
	}
}

// XRateLimitEpoch sets X-RateLimit-Limit, X-RateLimit-Remaining and
// X-RateLimit-Reset, the reset in seconds since the Unix epoch.
func XRateLimitEpoch(h http.Header, _ *http.Request, a weirtest.Answer) {
	if s, ok := a.Tightest(); ok {
		three(h, "X-RateLimit-", s, a.Now.Add(s.ResetAfter+time.Second-1).Unix())
	}
}

// XRateLimitDelta is XRateLimitEpoch with X-RateLimit-Reset in seconds from now.
func XRateLimitDelta(h http.Header, _ *http.Request, a weirtest.Answer) {
	if s, ok := a.Tightest(); ok {
		three(h, "X-RateLimit-", s, seconds(s.ResetAfter))
	}
}

// GitHub is XRateLimitEpoch with X-RateLimit-Used, and with the limit's policy
// name in X-RateLimit-Resource.
func GitHub(h http.Header, r *http.Request, a weirtest.Answer) {
	if s, ok := a.Tightest(); ok {
		XRateLimitEpoch(h, r, a)
		h.Set("X-RateLimit-Used", decimal(s.Limit.Max()-s.Remaining))
		h.Set("X-RateLimit-Resource", s.Limit.Policy())
	}
}

// OpenAI sets x-ratelimit-limit-, x-ratelimit-remaining- and x-ratelimit-reset-
// followed by the limit's name. The reset is a Go duration in whole milliseconds.
// A first limit without a name is "requests", a second one "tokens". Limits whose
// names no header can have are left out.
func OpenAI(h http.Header, _ *http.Request, a weirtest.Answer) {
	for i, s := range a.Limits {
		name := s.Limit.Policy()
		if usual := []string{"requests", "tokens"}; s.Limit.Name == "" && i < len(usual) {
			name = usual[i]
		}
		if !httptoken.Is(name) {
			continue
		}
		h.Set("X-RateLimit-Limit-"+name, decimal(s.Limit.Max()))
		h.Set("X-RateLimit-Remaining-"+name, decimal(s.Remaining))
		h.Set("X-RateLimit-Reset-"+name, (s.ResetAfter + time.Millisecond - 1).Truncate(time.Millisecond).String())
	}
}

// Shopify sets X-Shopify-Shop-Api-Call-Limit to used and possible units: "32/40".
func Shopify(h http.Header, _ *http.Request, a weirtest.Answer) {
	if s, ok := a.Tightest(); ok {
		h.Set("X-Shopify-Shop-Api-Call-Limit", decimal(s.Limit.Max()-s.Remaining)+"/"+decimal(s.Limit.Max()))
	}
}

// three sets the three headers that most dialects have.
func three(h http.Header, prefix string, s weirtest.LimitState, reset int64) {
	h.Set(prefix+"Limit", decimal(s.Limit.Max()))
	h.Set(prefix+"Remaining", decimal(s.Remaining))
	h.Set(prefix+"Reset", decimal(reset))
}

// oldPolicies lists the limits in the form before structured policies.
func oldPolicies(a weirtest.Answer) string {
	var all []string
	for _, s := range a.Limits {
		all = append(all, decimal(s.Limit.Max())+";w="+decimal(windowSeconds(s.Limit)))
	}
	return strings.Join(all, ", ")
}

// windowSeconds returns the time for Limit.Max units, in seconds rounded up.
func windowSeconds(l weir.Limit) int64 {
	hi, lo := bits.Mul64(uint64(l.Period), uint64(l.Max()))
	window, rest := bits.Div64(hi, lo, uint64(l.Rate))
	if rest > 0 {
		window++
	}
	return seconds(time.Duration(window))
}

// seconds returns whole seconds, rounded up.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// sfInteger writes an Integer of RFC 9651: at most 15 digits.
func sfInteger(n int64) string { return decimal(min(n, 999_999_999_999_999)) }
