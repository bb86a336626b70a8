package heed

import (
	"slices"
	"strings"

	"github.com/goweir/weir/upstream"
)

// Unit is the unit that a level counts in. It is Any if all levels of a Transport count
// in the same unit: the Reader then leaves out all other budgets.
type Unit uint8

const (
	Any      Unit = iota
	Requests      // each request takes 1
	Costs         // a request takes its cost: tokens, points, bytes
)

// The words for budgets of requests and for budgets of costs.
var (
	requestWords = []string{"request", "requests", "call", "calls", "query", "queries"}
	costWords    = []string{"tokens", "points", "credits", "bytes", "complexity"}
)

// counts reports whether a level counts in the unit of a signal's budget. A budget
// without a word for its unit counts requests.
func (u Unit) counts(s *upstream.Signal) bool {
	return u == Any || (u == Costs) == (hasWord(s.Name, costWords) || hasWord(s.Unit, costWords))
}

// Reader returns a reader that leaves out the budgets in another unit than all
// levels'. A reader with a Skip of its own stays as it is.
func Reader(r *upstream.Reader, all Unit) *upstream.Reader {
	if r.Skip != nil || all == Any {
		return r
	}
	words, own := map[Unit][]string{Requests: costWords, Costs: requestWords}[all], *r
	own.Skip = func(name string) bool { return hasWord(name, words) }
	return &own
}

// hasWord reports whether a budget's name has one of the words in it.
func hasWord(name string, words []string) bool {
	for word := range strings.FieldsFuncSeq(name, func(c rune) bool { return c == '-' || c == '_' || c == ' ' }) {
		if slices.Contains(words, strings.ToLower(word)) {
			return true
		}
	}
	return false
}
