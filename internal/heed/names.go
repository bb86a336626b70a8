package heed

import (
	"slices"
	"strings"

	"github.com/goweir/weir/upstream"
)

// refuser returns the index of the booking whose limiter refused, by the cause of the
// signal: by the limit's name, or else by its scope.
//
//	scope      booking
//	global     the widest
//	tenant     the one before, if that is not the narrowest
//	another    the narrowest
func refuser(s *upstream.Signal, budgets []upstream.Budget, bookings []Booking) (at int, found bool) {
	c := &s.Cause
	for _, name := range [...]string{c.Limit, c.Scope} {
		if at := byName(name, budgets, bookings); at >= 0 {
			return at, true
		}
	}
	last := len(bookings) - 1
	return map[string]int{"global": last, "tenant": min(max(last-1, 1), last)}[c.Scope], c.Scope != ""
}

// byName returns the index of the booking whose limiter has a name; -1: none. A budget
// of the same response with a longer name may be the limiter's instead.
func byName(name string, budgets []upstream.Budget, bookings []Booking) int {
	found := -1
	for i := range bookings {
		limiter := bookings[i].Name
		if !endsIn(limiter, name) || found >= 0 && len(limiter) >= len(bookings[found].Name) {
			continue
		}
		longer := func(b upstream.Budget) bool { return len(b.Name) > len(name) && endsIn(limiter, b.Name) }
		if !slices.ContainsFunc(budgets, longer) {
			found = i
		}
	}
	return found
}

// endsIn reports whether the last words of a limiter's name are those of a limit. Upper
// and lower case are equal, and so are all separators: "openai/Input_Tokens" ends in
// "input-tokens".
func endsIn(limiter, name string) bool {
	begin := len(limiter) - len(name)
	if name == "" || begin < 0 || begin > 0 && !isSeparator(limiter[begin-1]) {
		return false
	}
	for i := range len(name) {
		a, b := limiter[begin+i], name[i]
		if a != b && !(isSeparator(a) && isSeparator(b)) && !strings.EqualFold(limiter[begin+i:begin+i+1], name[i:i+1]) {
			return false
		}
	}
	return true
}

func isSeparator(c byte) bool { return strings.IndexByte("-_./: ", c) >= 0 }
