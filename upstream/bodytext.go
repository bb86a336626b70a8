package upstream

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// bodyText is the meaning of the beginning of a refusal's body.
type bodyText struct {
	after   time.Duration
	cause   Cause
	noRetry string
	limited bool // it says that a limit refused
}

// complete returns c with the facts that only the body has.
func (t *bodyText) complete(c Cause) Cause {
	c.Limit, c.Scope = cmp.Or(c.Limit, t.cause.Limit), cmp.Or(c.Scope, t.cause.Scope)
	c.Concurrent = c.Concurrent || t.cause.Concurrent
	return c
}

// final are the codes of refusals that no wait ends.
var final = map[string]bool{
	"insufficient_quota": true, "billing_hard_limit_reached": true, "billing_not_active": true, "access_terminated": true,
	"insufficient_balance": true, "insufficient_credits": true, "payment_required": true,
}

// parseBody reads the beginning of a body: JSON, perhaps cut off, or text. It goes by
// the names of fields at any depth, in upper or lower case, with or without separators.
//
//	Field                                Meaning                              Example of
//	retryAfter, retryIn, retryDelay      a number of seconds, or a duration   Telegram, google.rpc.RetryInfo
//	… with a unit: retry_after_ms        a number of these                    Matrix, Monday
//	…message, error, detail              "try again in 1.2s" and the like     OpenAI, Django REST framework
//	code, type, status, reason, error    insufficient_quota; tokens           OpenAI, Salesforce (errorCode)
//	quotaId, quota_limit, policyName     the limit                            google.rpc.QuotaFailure, HubSpot
//	global: true                         the scope                            Discord
func parseBody(text []byte) (t bodyText) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var objects []bool // of the open delimiters
	field, isName := "", false
	for begun := false; ; begun = true {
		token, err := decoder.Token()
		delim, opens := token.(json.Delim)
		if err != nil || len(objects) == 0 && (begun || !opens) {
			if !begun {
				t.message(string(text))
				_, code, _ := strings.Cut(string(text), "<Code>")
				code, _, _ = strings.Cut(code, "<")
				t.code(strings.ToLower(code))
			}
			return t
		}
		switch v := token.(type) {
		case json.Delim:
			if objects = append(objects, delim == '{'); delim == '}' || delim == ']' {
				objects = objects[:len(objects)-2]
			}
		case string:
			if isName {
				field, isName = joined(v), false
				continue
			}
			t.text(field, v)
		case json.Number:
			if unit := waitUnit(field); unit > 0 {
				t.wait(v.String(), unit)
			}
		case bool:
			if v && field == "global" {
				t.cause.Scope = "global"
			}
		}
		isName = len(objects) > 0 && objects[len(objects)-1]
	}
}

// joined returns a name in lower case, without separators.
func joined(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}

// waitUnit returns the unit of the numbers of a field with a wait; 0: another field.
func waitUnit(field string) time.Duration {
	for _, begin := range [...]string{"retryafter", "retryin", "retrydelay", "backoff", "throttle"} {
		if unit, ok := strings.CutPrefix(field, begin); ok {
			return units[cmp.Or(unit, "s")]
		}
	}
	if field == "estimatedtimetoregainaccess" { // Meta
		return time.Minute
	}
	return 0
}

// text reads a field with a string.
func (t *bodyText) text(field, value string) {
	switch unit := waitUnit(field); {
	case unit > 0:
		t.wait(value, unit)
	case slices.Contains(limitFields, field) && isWord(value):
		t.cause.Limit = cmp.Or(t.cause.Limit, strings.ToLower(value))
	case slices.Contains(codeFields, field) && isWord(value):
		t.code(strings.ToLower(value))
	case strings.HasSuffix(field, "message"), field == "error", field == "detail":
		t.message(value)
	}
}

var (
	limitFields = []string{"quotaid", "quotalimit", "policyname"}
	codeFields  = []string{"code", "errorcode", "o:errorcode", "type", "errortype", "status", "reason", "errorname", "error"}
	// exceeded are parts of refusals' names: userRateLimitExceeded (Google), throttle_violation
	// (Stack Exchange), com.amazonaws.dynamodb.v20120810#ThrottlingException, ERR_403_DEVELOPER_OVER_QPS (Mashery).
	exceeded = []string{"ratelimitexceeded", "requestlimitexceeded", "invocationlimitexceeded", "concurrentlimitexceeded", "throughputexceeded",
		"toomanyrequests", "ratelimited", "throttl", "developeroverqps", "developeroverrate"}
	// refusing are parts of sentences of refusals: Unsplash and Canvas, four of Meta, SEC EDGAR, Mashery, Bybit.
	refusing = []string{"rate limit exceeded", "request limit reached", "too many calls", "exceeded the rate limit", "rate limit hit",
		"rate threshold exceeded", "developer over qps", "developer over rate", "access too frequent"}
	// crowded are parts of sentences about calls under way: Mailchimp, Anthropic, NetSuite.
	crowded = []string{"simultaneous connections", "concurrent connections has exceeded", "concurrent request limit exceeded"}
)

// code reads a word for programs.
func (t *bodyText) code(word string) {
	t.limited = t.limited || slices.Contains([]string{"quotaexceeded", "dailylimitexceeded", "slowdown"}, joined(word)) ||
		slices.ContainsFunc(exceeded, func(part string) bool { return strings.Contains(joined(word), part) })
	switch {
	case final[word]:
		t.noRetry = word
	case word == "tokens" || word == "requests":
		t.cause.Limit = word
	case word == "lock_timeout", strings.Contains(word, "concurren") && isWord(word): // Stripe: another call has the object.
		t.cause.Limit, t.cause.Concurrent = word, true
	}
}

// message reads a sentence for persons.
func (t *bodyText) message(s string) {
	s = strings.ToLower(s)
	in := func(part string) bool { return strings.Contains(s, part) }
	if in("secondary rate limit") {
		t.cause.Limit, t.limited = "secondary", true
	}
	t.limited = t.limited || slices.ContainsFunc(refusing, in)
	t.cause.Concurrent = t.cause.Concurrent || slices.ContainsFunc(crowded, in)
	for _, before := range [...]string{"try again in ", "retry in ", "retry after ", "try again after ", "available in ", "reset in ", "resets in ", "wait "} {
		if _, after, ok := strings.Cut(s, before); ok {
			t.wait(after, 0)
		}
	}
}

// wait keeps the longest wait. s begins with a duration, or with a number of the unit that
// follows, or else of unit.
func (t *bodyText) wait(s string, unit time.Duration) {
	words := strings.Fields(s[:min(len(s), maxTimeLength)])
	for i := range words {
		words[i] = strings.TrimRight(strings.TrimLeft(words[i], "~"), ".,;:!)\"")
	}
	if len(words) == 0 || words[0] == "" {
		return
	}
	if len(words) > 1 {
		unit = cmp.Or(unitOf(words[1]), unit)
	}
	if d, ok := parseDuration(words[0]); ok {
		t.after = max(t.after, d)
	} else if d, ok := parseDecimal(strings.TrimSuffix(words[0], "s")); ok && d.whole < firstEpoch { // no moment
		t.after = max(t.after, d.times(unit))
	}
}
