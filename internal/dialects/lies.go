package dialects

import (
	"net/http"
	"strings"

	"github.com/goweir/weir/weirtest"
)

// The lies are dialects for tests that a client survives nonsense. Each sets the
// headers of all dialects on every response. On a refusal it replaces
// Retry-After.

// LieFarFuture says that the limit resets in the year 9999.
func LieFarFuture(h http.Header, _ *http.Request, a weirtest.Answer) {
	lie(h, a, lies{limit: "100", number: "0", duration: "69893280h0m0s", delta: "251617708800", epoch: "253402300799", retryAfter: "Fri, 31 Dec 9999 23:59:59 GMT"})
}

// LieNegative sets every number to -1.
func LieNegative(h http.Header, _ *http.Request, a weirtest.Answer) {
	lie(h, a, lies{limit: "-1", number: "-1", duration: "-1s", delta: "-1", epoch: "-1", retryAfter: "-1"})
}

// LieOverflow sets numbers that no integer holds.
func LieOverflow(h http.Header, _ *http.Request, a weirtest.Answer) {
	huge := strings.Repeat("9", 40)
	lie(h, a, lies{limit: huge, number: huge, duration: huge + "h", delta: huge, epoch: huge + ".5e999", retryAfter: huge})
}

// LieRubbish sets texts in place of numbers.
func LieRubbish(h http.Header, _ *http.Request, a weirtest.Answer) {
	lie(h, a, lies{limit: "Infinity", number: "NaN", duration: "µ", delta: "soon", epoch: "2022-13-45T99:99Z", retryAfter: "soon, \"a\" ;r=1,"})
}

// lies are the values of one lie.
type lies struct{ limit, number, duration, delta, epoch, retryAfter string }

func lie(h http.Header, a weirtest.Answer, l lies) {
	if a.Refused != weirtest.NotRefused {
		h.Set("Retry-After", l.retryAfter)
		h.Set("Retry-After-Ms", l.delta)
	}
	h.Set("RateLimit-Policy", `"liar";q=`+l.limit+`;w=`+l.delta)
	h.Set("RateLimit", `"liar";r=`+l.number+`;t=`+l.delta)
	for prefix, reset := range map[string]string{"RateLimit-": l.delta, "X-RateLimit-": l.epoch} {
		h.Set(prefix+"Limit", l.limit)
		h.Set(prefix+"Remaining", l.number)
		h.Set(prefix+"Reset", reset)
	}
	h.Set("X-RateLimit-Limit-Requests", l.limit)
	h.Set("X-RateLimit-Remaining-Requests", l.number)
	h.Set("X-RateLimit-Reset-Requests", l.duration)
	h.Set("X-Shopify-Shop-Api-Call-Limit", l.limit+"/"+l.limit)
}
