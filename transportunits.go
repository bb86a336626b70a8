package weir

import (
	"slices"
	"strings"

	"github.com/goweir/weir/upstream"
)

// The words by which budgets are told apart that count requests from those that count
// what requests cost.
var (
	namesOfRequests = []string{"request", "requests", "call", "calls", "query", "queries"}
	namesOfCosts    = []string{"tokens", "points", "credits", "bytes", "complexity"}
)

// readerFor returns a reader that leaves budgets out which count in another unit than
// the limits do: a Transport counts requests, or costs where it is told any. What it
// is told not to read itself is as it is.
func readerFor(r *upstream.Reader, scopes []scope) *upstream.Reader {
	if r.Skip != nil {
		return r
	}
	costs, requests := false, false
	for i := range scopes {
		if scopes[i].Cost != nil || scopes[i].Settle != nil {
			costs = true
		} else {
			requests = true
		}
	}
	others := namesOfCosts
	switch {
	case costs && requests:
		return r
	case costs:
		others = namesOfRequests
	}
	own := *r
	own.Skip = func(name string) bool {
		for word := range strings.FieldsFuncSeq(name, func(c rune) bool { return c == '-' || c == '_' || c == ' ' }) {
			if slices.Contains(others, strings.ToLower(word)) {
				return true
			}
		}
		return false
	}
	return &own
}
