package upstream

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
)

// Cause says which of the upstream's limits refused a request, in the upstream's own
// words, in lower case.
type Cause struct {
	// Limit names the limit: a reason such as "jira-burst-based", a resource such as "search",
	// or a budget such as "tokens". "secondary" is GitHub's. Empty: not known.
	Limit string
	// Scope is the traffic that the limit counts. "global" is all of it, "tenant" one
	// customer's. Any other word, such as "endpoint", "resource", "user" or "shared",
	// is a narrower part. Empty: not known.
	Scope string
	// Concurrent: the limit counts calls under way. A lower rate does not help.
	Concurrent bool
}

// scopes are the words of a reason for its scope.
var scopes = map[string]string{
	"global": "global", "application": "global", "tenant": "tenant", "endpoint": "endpoint", "method": "endpoint", "burst": "endpoint",
	"issue": "issue", "resource": "resource",
}

// claims are the names of Anthropic's budgets by its representative claim.
var claims = map[string]string{"five_hour": "unified-5h", "seven_day": "unified-7d"}

// causeOf reads the headers that name the refusing limit: those of doc.go.
func causeOf(h http.Header) (c Cause, resource string) {
	for _, name := range limitNames(h) {
		lower := strings.ToLower(name)
		if n, _ := parseName(lower); n.family == "" || n.role != bare || isInformational(lower) {
			continue
		}
		value := firstWord(h[name])
		switch lower[strings.LastIndexByte(lower, '-')+1:] {
		case "reason", "problem", "code": // The last is Discourse's.
			if c.Limit == "" && value != "" {
				c = byReason(value, c)
			}
		case "scope":
			c.Scope = value
		case "type":
			c.Scope = cmp.Or(c.Scope, scopes[value])
		case "resource", "name", "group", "category":
			resource = value
		case "global":
			if value == "true" {
				c.Scope = "global"
			}
		case "claim":
			if c.Limit = value; claims[value] != "" {
				c.Limit = claims[value]
			}
		}
	}
	return c, resource
}

// byReason adds a reason to c, and the meaning of its words.
func byReason(reason string, c Cause) Cause {
	c.Limit = reason
	for word := range strings.FieldsFuncSeq(reason, isSeparator) {
		c.Scope = cmp.Or(c.Scope, scopes[word])
		c.Concurrent = c.Concurrent || word == "concurrency" || word == "concurrent"
	}
	return c
}

// blame completes the cause of a refusal by its budgets, in their order.
func blame(c Cause, resource string, remaining int64, budgets []Budget, after bool) Cause {
	if resource != "" && after && remaining > 0 {
		resource = "secondary" // GitHub: nothing but the Retry-After tells it.
	}
	c.Limit = cmp.Or(c.Limit, resource)
	if i := slices.IndexFunc(budgets, Budget.exhausted); c.Limit == "" && i >= 0 {
		c.Limit = strings.ToLower(budgets[i].Name)
		c.Concurrent = !budgets[i].isRate()
	}
	return c
}

// noRetry returns the reason why a response forbids a further attempt; empty: none.
func noRetry(status int, h http.Header) string {
	if status < http.StatusBadRequest {
		return ""
	}
	if status == http.StatusPaymentRequired {
		return "payment required"
	}
	for _, name := range [...]string{"X-Should-Retry", "Stripe-Should-Retry"} {
		if slices.ContainsFunc(h[name], func(v string) bool { return strings.EqualFold(strings.TrimSpace(v), "false") }) {
			return name
		}
	}
	return ""
}
