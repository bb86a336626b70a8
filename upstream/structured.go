package upstream

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// The fields of the IETF draft "RateLimit header fields for HTTP" since its
// draft 07 are structured fields (RFC 9651); addAll reads the one of draft 07. A malformed item is left out alone. A
// field with an empty item is ignored: it has lost a part on its way.

// with returns b with an item's units left and time until the reset, under two names.
func (b Budget) with(item httpsfv.Item, remaining, reset string) Budget {
	if n, ok := quantity(item.Params.Get(remaining)); ok {
		b.Remaining = n
	}
	if n, ok := quantity(item.Params.Get("q")); ok {
		b = b.of(n)
	}
	if d, ok := seconds(item.Params.Get(reset)); ok {
		b.Reset = d
	}
	return b
}

// items reads a list, without malformed items.
func items(values []string) httpsfv.List {
	line := oneLine(values)
	list, err := httpsfv.UnmarshalList([]string{line})
	if err != nil {
		for _, part := range parts(line) {
			if strings.TrimSpace(part) == "" {
				return nil
			}
			part = strings.TrimPrefix(strings.TrimSpace(part), "b=") // Auth0: b=per_hour;q=2;r=1;t=924
			one, err := httpsfv.UnmarshalList([]string{part})
			if _, named, _ := strings.Cut(part, `;"`); err != nil && named != "" {
				one, err = httpsfv.UnmarshalList([]string{`"` + named}) // Hugging Face: "fixed window";"api";q=500
			}
			if err == nil {
				list = append(list, one...)
			}
		}
	}
	return slices.DeleteFunc(list[:min(len(list), maxItems)], func(m httpsfv.Member) bool {
		_, ok := m.(httpsfv.Item)
		return !ok
	})
}

// parts splits a list at the commas outside of strings.
func parts(s string) (all []string) {
	begin, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ',' && !quoted:
			all, begin = append(all, s[begin:i]), i+1
		}
	}
	return append(all, s[begin:])
}

// listBudgets reads RateLimit: "default";a=50;w=30 since draft 12, "default";r=50;t=30 before.
func listBudgets(list httpsfv.List) []Budget {
	var budgets []Budget
	for _, member := range list {
		item := member.(httpsfv.Item)
		b := unsaid(identifier(item.Value)).with(item, "r", "t").with(item, "a", "w") // The later draft wins.
		b.Partition = partitionKey(item)
		// Draft 11 demands r.
		if b.Remaining >= 0 {
			budgets = append(budgets, b)
		}
	}
	return budgets
}

// partitionKey returns an item's pk: bytes, in some drafts a string.
func partitionKey(item httpsfv.Item) string {
	pk, _ := item.Params.Get("pk")
	if raw, ok := pk.([]byte); ok {
		return string(raw)
	}
	return identifier(pk)
}

// parsePolicies reads RateLimit-Policy: "default";q=100;w=60, or 100;w=60 up to draft 07. A
// policy is a budget of which nothing but the size is known.
func parsePolicies(values []string) []Budget {
	var policies []Budget
	for _, member := range items(values) {
		item := member.(httpsfv.Item)
		quota, ok := item.Value.(int64)
		if !ok {
			quota, ok = quantity(item.Params.Get("q"))
		}
		if !ok || quota < 0 {
			continue
		}
		p := unsaid(identifier(item.Value)).of(quota)
		p.Window, _ = seconds(item.Params.Get("w"))
		unit, _ := item.Params.Get("qu")
		p.Unit, p.Partition = identifier(unit), partitionKey(item)
		policies = append(policies, p)
	}
	return policies
}

// applyPolicy gives b the limit, the window and the unit of its policy: the policy
// with its name. For a nameless budget it is the policy with its limit, or the
// only policy.
func applyPolicy(b Budget, policies []Budget) Budget {
	for _, p := range policies {
		switch {
		case b.Name != "" && p.Name == b.Name && (p.Partition == "" || b.Partition == "" || p.Partition == b.Partition),
			b.Name == "" && b.Limit == p.Limit && p.Limit > 0,
			b.Name == "" && b.Limit < 0 && len(policies) == 1:
			if b.Limit < 0 {
				b = b.of(p.Limit)
			}
			b.Window, b.Partition, b.Unit = cmp.Or(b.Window, p.Window), cmp.Or(b.Partition, p.Partition), cmp.Or(b.Unit, p.Unit)
			return b
		}
	}
	return b
}

// identifier returns an item's name: a string, in some drafts a token.
func identifier(v any) string {
	if token, ok := v.(httpsfv.Token); ok {
		return string(token)
	}
	s, _ := v.(string)
	return s
}

// quantity returns an integer of 0 or more.
func quantity(v any, ok bool) (int64, bool) {
	n, isInt := v.(int64)
	return n, ok && isInt && n >= 0
}

// seconds returns a duration from 0 to maxTime. A decimal has three digits after the point.
func seconds(v any, ok bool) (time.Duration, bool) {
	n, isDecimal := v.(float64)
	if whole, isInt := v.(int64); isInt {
		n, isDecimal = float64(whole), true
	}
	if !ok || !isDecimal || n < 0 {
		return 0, false
	}
	return decimal{whole: uint64(math.Ceil(n * 1000))}.times(time.Millisecond), true
}
