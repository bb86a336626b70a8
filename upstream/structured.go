package upstream

import (
	"math"
	"time"

	"github.com/dunglas/httpsfv"
)

// The fields of the IETF draft "RateLimit header fields for HTTP" since its
// draft 07 are structured fields (RFC 9651): a field with one mistake is ignored.

// policyItem is one item of RateLimit-Policy.
type policyItem struct {
	name   string
	quota  int64
	window time.Duration // 0: unknown
	unit   string        // empty: unknown
}

// parseStructured reads RateLimit: the list of drafts 08 and later,
// "default";r=50;t=30, or the dictionary of draft 07, limit=100, remaining=50,
// reset=30.
func parseStructured(values []string) []Budget {
	if !bounded(values) {
		return nil
	}
	if list, err := httpsfv.UnmarshalList(values); err == nil {
		return listBudgets(list)
	}
	dict, err := httpsfv.UnmarshalDictionary(values)
	if err != nil {
		return nil
	}
	b := unsaid("")
	if n, ok := quantity(dict.Get("remaining")); ok {
		b.Remaining = n
	}
	if n, ok := quantity(dict.Get("limit")); ok {
		b = b.of(n)
	}
	if d, ok := seconds(dict.Get("reset")); ok {
		b.Reset = d
	}
	if b == unsaid("") {
		return nil
	}
	return []Budget{b}
}

func listBudgets(list httpsfv.List) []Budget {
	var budgets []Budget
	for _, member := range list[:min(len(list), maxItems)] {
		item, ok := member.(httpsfv.Item)
		if !ok {
			continue
		}
		b := unsaid(identifier(item.Value))
		if n, ok := quantity(item.Params.Get("r")); ok {
			b.Remaining = n
		}
		if d, ok := seconds(item.Params.Get("t")); ok {
			b.Reset = d
		}
		// Draft 11 demands r.
		if b.Remaining >= 0 {
			budgets = append(budgets, b)
		}
	}
	return budgets
}

// parsePolicies reads RateLimit-Policy: "default";q=100;w=60, or 100;w=60 up
// to draft 07.
func parsePolicies(values []string) []policyItem {
	if !bounded(values) {
		return nil
	}
	list, err := httpsfv.UnmarshalList(values)
	if err != nil {
		return nil
	}
	var policies []policyItem
	for _, member := range list[:min(len(list), maxItems)] {
		item, ok := member.(httpsfv.Item)
		if !ok {
			continue
		}
		p := policyItem{name: identifier(item.Value)}
		if p.quota, ok = item.Value.(int64); !ok {
			p.quota, ok = quantity(item.Params.Get("q"))
		}
		if !ok || p.quota < 0 {
			continue
		}
		p.window, _ = seconds(item.Params.Get("w"))
		if unit, ok := item.Params.Get("qu"); ok {
			p.unit = identifier(bareItem(unit))
		}
		policies = append(policies, p)
	}
	return policies
}

// applyPolicy gives b the limit, the window and the unit of its policy: the policy
// with its name. For a nameless budget it is the policy with its limit, or the
// only policy.
func applyPolicy(b Budget, policies []policyItem) Budget {
	for _, p := range policies {
		switch {
		case b.Name != "" && p.name == b.Name,
			b.Name == "" && b.Limit == p.quota,
			b.Name == "" && b.Limit < 0 && len(policies) == 1:
			if b.Limit < 0 {
				b = b.of(p.quota)
			}
			if b.Window == 0 {
				b.Window = p.window
			}
			b.Unit = p.unit
			return b
		}
	}
	return b
}

// identifier returns an item's name: a string, in some drafts a token.
func identifier(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case httpsfv.Token:
		return string(v)
	}
	return ""
}

// quantity returns an integer of 0 or more.
func quantity(v any, ok bool) (int64, bool) {
	n, isInt := bareItem(v).(int64)
	return n, ok && isInt && n >= 0
}

// seconds returns a duration from 0 to maxTime.
func seconds(v any, ok bool) (time.Duration, bool) {
	if !ok {
		return 0, false
	}
	switch n := bareItem(v).(type) {
	case int64:
		if n >= 0 {
			return decimal{whole: uint64(n)}.times(time.Second), true
		}
	case float64: // a decimal with three digits after the point
		if n >= 0 {
			return decimal{whole: uint64(math.Ceil(n * 1000))}.times(time.Millisecond), true
		}
	}
	return 0, false
}

// bareItem returns the value of a dictionary's member, without parameters. A
// parameter's value stays as it is.
func bareItem(v any) any {
	if item, ok := v.(httpsfv.Item); ok {
		return item.Value
	}
	return v
}

// bounded reports whether all lines together are short enough to read.
func bounded(values []string) bool {
	total := 0
	for _, v := range values {
		total += len(v) + 1
	}
	return total <= maxLineLength
}
