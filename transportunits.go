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
// all the limits do: these count requests, or costs where they are told any. What it
// is told not to read itself is as it is.
func readerFor(r *upstream.Reader, scopes []scope) *upstream.Reader {
	if r.Skip != nil {
		return r
	}
	costs, requests := false, false
	for i := range scopes {
		if scopes[i].costs() {
			costs = true
		} else {
			requests = true
		}
	}
	if costs && requests {
		return r
	}
	own := *r
	own.Skip = func(name string) bool { return countsOther(name, costs) }
	return &own
}

// costs reports whether a limit counts what requests cost.
func (s *scope) costs() bool { return s.Cost != nil || s.Settle != nil }

// counts reports whether a booking counts in the unit of a budget. One without a name
// for its unit is taken to count requests where both are counted.
func (b *booking) counts(s *upstream.Signal) bool {
	if !b.mixed {
		return true
	}
	return b.costs == (names(s.Name, namesOfCosts) || names(s.Unit, namesOfCosts))
}

// countsOther reports whether a budget counts something else than costs, or than
// requests, by its name or its unit.
func countsOther(name string, costs bool) bool {
	if costs {
		return names(name, namesOfRequests)
	}
	return names(name, namesOfCosts)
}

// names reports whether one of the words is in a budget's name.
func names(name string, words []string) bool {
	if name == "" {
		return false
	}
	for word := range strings.FieldsFuncSeq(name, func(c rune) bool { return c == '-' || c == '_' || c == ' ' }) {
		if slices.Contains(words, strings.ToLower(word)) {
			return true
		}
	}
	return false
}
