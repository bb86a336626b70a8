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
	after, least time.Duration // least: unless the headers have a time
	cause        Cause
	noRetry      string
	limited      bool // it says that a limit refused
	date         time.Time
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
//	code, type, status, reason, error    insufficient_quota; tokens           OpenAI, Salesforce (errorCode)
//	…message, msg, error, detail, title  "try again in 1.2s" and the like     OpenAI, Gmail: "Retry after 2022-06-13T11:50:53Z"
//	quotaId, quota_limit, policyName     the limit                            google.rpc.QuotaFailure, HubSpot
//	global: true                         the scope                            Discord
func parseBody(text []byte, date time.Time) (t bodyText) {
	t.date = date
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
func joined(name string) string { return strings.ToLower(separators.Replace(name)) }

var separators = strings.NewReplacer("_", "", "-", "", " ", "")

// waitUnit returns the unit of the numbers of a field with a wait; 0: another field.
func waitUnit(field string) time.Duration {
	for _, begin := range [...]string{"retryafter", "retryin", "retrydelay", "resetsin", "backoff", "throttle"} {
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
	case hasAny(field, textFields):
		t.message(value)
	}
}

var (
	limitFields = []string{"quotaid", "quotalimit", "policyname"}
	codeFields  = []string{"code", "errorcode", "o:errorcode", "type", "errortype", "errorstatus", "status", "reason", "errorname", "error", "id"}
	textFields  = []string{"message", "msg", "error", "detail", "description", "title"}
	// exceeded are parts of refusals' names and sentences, without separators: Google, Unsplash, Canvas, Mashery, Meta, EDGAR, AccuWeather, Bybit, QuickBooks, MusicBrainz, Feishu, DingTalk, Binance, Vultr, Zoho.
	exceeded = []string{"ratelimitexceeded", "requestlimitexceeded", "invocationlimitexceeded", "concurrentlimitexceeded", "throughputexceeded",
		"developeroverqps", "developeroverrate", "requestlimitreached", "toomanycalls", "exceededtheratelimit", "ratelimithit",
		"ratethresholdexceeded", "numberofrequestshasbeenexceeded", "accesstoofrequent", "outofcallvolumequota", "throttleexceeded",
		"exceedingtheallowableratelimit", "triggerfrequencylimit", "qpslimitfor", "requestweightused", "ratelimitreached", "madetoomanyrequests"}
	// throttling are parts of names alone: throttle_violation (Stack Exchange), com.amazonaws.dynamodb.v20120810#ThrottlingException.
	throttling = []string{"toomanyrequests", "ratelimited", "throttl"}
	// refusing are whole names or sentences: Google, Tyk, Amazon S3, Azure Storage, Podio.
	refusing = []string{"quotaexceeded", "dailylimitexceeded", "slowdown", "toomanyrequests", "serverbusy", "ratelimit"}
	// crowded are parts of sentences about calls under way: Mailchimp, Anthropic, Dynamics 365, NetSuite, Moonshot AI, Okta, BigQuery, Outlook, Salesforce.
	crowded = []string{"simultaneous connections", "concurrent connections has exceeded", "concurrent requests exceeded", "concurrent request limit exceeded",
		"organization concurrency", "too many concurrent", "mailboxconcurrency limit", "concurrent api requests) limit", "concurrentperorglongtxn limit"}
)

// code reads a word for programs.
func (t *bodyText) code(word string) {
	t.limited = t.limited || refuses(joined(word)) || hasAny(joined(word), throttling)
	switch {
	case final[word]:
		t.noRetry = word
	case word == "tokens" || word == "requests":
		t.cause.Limit = word
	case word == "lock_timeout", strings.Contains(word, "concurren") && isWord(word): // Stripe: another call has the object.
		t.cause.Limit, t.cause.Concurrent = word, true
	}
}

// refuses reports whether a joined name or sentence says that a limit refused.
func refuses(s string) bool { return slices.Contains(refusing, s) || hasAny(s, exceeded) }

// message reads a sentence for persons.
func (t *bodyText) message(s string) {
	s = strings.ToLower(s)
	if hasAny(s, []string{"secondary rate limit", "abuse detection mechanism"}) {
		t.cause.Limit, t.limited, t.least = "secondary", true, time.Minute // GitHub asks for it.
	}
	t.limited = t.limited || refuses(joined(s))
	t.cause.Concurrent = t.cause.Concurrent || hasAny(s, crowded)
	for _, before := range [...]string{"try again in ", "retry in ", "try after ", "try after: ", "try again after ", "until ", "request this after ", "request after ", "available in ", "reset in ", "resets in ", "reset after ", "replenished in ", "access api after ", "retry-after: ", "timed out for ", "wait "} {
		if _, after, ok := strings.Cut(s, before); ok {
			t.wait(after, 0)
		}
	}
}

// momentWords is the number of words of the longest moment: Mon, 13 Jun 2022 11:49:23 GMT.
const momentWords = 6

// wait keeps the longest wait. s begins with a duration, with a number of the unit that
// follows, or else of unit, or without a unit with a moment.
func (t *bodyText) wait(s string, unit time.Duration) {
	between := func(r rune) bool { return strings.ContainsRune(" \t\r\n,;!~()<>\"'", r) }
	words := append(strings.FieldsFunc(strings.ToLower(s[:min(len(s), maxTimeLength)]), between), make([]string, momentWords)...)
	number, word := strings.TrimRight(words[0], ".:"), strings.TrimRight(words[1], ".:")
	d, ok := parseDuration(number)
	if n, isNumber := parseDecimal(strings.TrimSuffix(number, "s")); !ok && isNumber && n.whole < firstEpoch { // no moment
		d, ok = n.times(cmp.Or(unitOf(word), unit)), true
	}
	for n := momentWords; n > 0 && !ok && unit == 0; n-- { // a moment, of a sentence alone
		d, ok = until(strings.TrimRight(strings.Join(words[:n], " "), " .:"), 0, maxTime, t.date)
	}
	t.after = max(t.after, d)
}
