package upstream

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"time"
)

// bodyText is the meaning of the beginning of a refusal's body.
type bodyText struct {
	after   time.Duration
	cause   Cause
	noRetry string
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
// the names of fields, at any depth.
//
//	Field                      Meaning                           Example of
//	retryDelay                 a duration                        google.rpc.RetryInfo
//	retry_after                seconds                           Discord, Telegram
//	message, error             "try again in 1.2s" and the like  OpenAI, Azure
//	code, type                 insufficient_quota; tokens        OpenAI
//	quotaId                    the limit                         google.rpc.QuotaFailure
//	global: true               the scope                         Discord
func parseBody(text []byte) bodyText {
	var t bodyText
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	first, err := decoder.Token()
	if _, isJSON := first.(json.Delim); err != nil || !isJSON {
		t.message(string(text))
		return t
	}
	t.fields(decoder, first == json.Delim('{'))
	return t
}

// fields reads the rest of a JSON text, up to its first mistake.
func (t *bodyText) fields(decoder *json.Decoder, inObject bool) {
	objects := []bool{inObject} // of the open delimiters
	field, isName := "", inObject
	for len(objects) > 0 {
		token, err := decoder.Token()
		if err != nil {
			return
		}
		switch v := token.(type) {
		case json.Delim:
			if v == '{' || v == '[' {
				objects = append(objects, v == '{')
			} else {
				objects = objects[:len(objects)-1]
			}
			isName = len(objects) > 0 && objects[len(objects)-1]
			continue
		case string:
			if isName {
				field, isName = v, false
				continue
			}
			t.text(field, v)
		case json.Number:
			if d, ok := parseDecimal(v.String()); ok && field == "retry_after" {
				t.wait(d.times(time.Second))
			}
		case bool:
			if v && field == "global" {
				t.cause.Scope = "global"
			}
		}
		isName = objects[len(objects)-1]
	}
}

// text reads a field with a string.
func (t *bodyText) text(field, value string) {
	switch field {
	case "retryDelay":
		if d, ok := strings.CutSuffix(value, "s"); ok {
			if d, ok := parseDecimal(d); ok {
				t.wait(d.times(time.Second))
			}
		}
	case "message", "error", "detail":
		t.message(value)
	case "quotaId":
		if t.cause.Limit == "" && isWord(value) {
			t.cause.Limit = strings.ToLower(value)
		}
	case "code", "type":
		switch value = strings.ToLower(value); {
		case final[value]:
			t.noRetry = value
		case value == "tokens" || value == "requests":
			t.cause.Limit = value
		case value == "lock_timeout": // Stripe: another call has the object.
			t.cause.Limit, t.cause.Concurrent = value, true
		}
	}
}

// message reads a sentence for persons.
func (t *bodyText) message(s string) {
	s = strings.ToLower(s)
	if strings.Contains(s, "secondary rate limit") {
		t.cause.Limit = "secondary"
	}
	for _, before := range [...]string{"try again in ", "retry in ", "retry after ", "try again after "} {
		_, after, ok := strings.Cut(s, before)
		if !ok {
			continue
		}
		words := strings.Fields(after[:min(len(after), maxTimeLength)])
		for i := range words {
			words[i] = strings.TrimRight(words[i], ".,;:!)")
		}
		if len(words) == 0 || words[0] == "" {
			continue
		}
		if d, ok := parseDuration(words[0]); ok {
			t.wait(d)
		} else if d, ok := parseDecimal(words[0]); ok && len(words) > 1 {
			t.wait(d.times(windows[strings.TrimSuffix(words[1], "s")]))
		}
	}
}

// wait keeps the longest wait.
func (t *bodyText) wait(d time.Duration) { t.after = max(t.after, d) }
