package upstream

import (
	"cmp"
	"net/http"
	"time"
)

// Dialect reads the rate headers of one kind of upstream. [Common] and
// [Fields] are dialects. Implementations are safe for concurrent use.
type Dialect interface {
	// Budgets returns the budgets in h, in any order. It measures moments against
	// date, the Date of the response. It does not change h.
	Budgets(h http.Header, date time.Time) []Budget
}

// Common is the dialect of all hosts without another one. It reads the headers in
// the package's documentation, of any vendor.
type Common struct{}

// Budgets returns the budgets in h.
func (Common) Budgets(h http.Header, date time.Time) []Budget {
	found, budgets := families(h, date)
	for _, f := range found {
		budgets = append(budgets, f.budgets()...)
	}
	return budgets
}

// Fields is a dialect of one budget, given by the names of its headers. It is for
// upstreams that [Common] does not understand, or misreads. An empty name stands
// for a header that the upstream does not send.
type Fields struct {
	// Name is the budget's name.
	Name string
	// Limit, Remaining and Used name headers that count units. Used counts only with
	// a limit and without a remaining number.
	Limit, Remaining, Used string
	// Reset names the header with the time until the budget is renewed, Window the
	// header with its length.
	Reset, Window string
	// Unit is the unit of the numbers in Reset and Window, for example
	// time.Millisecond. 0: the second. A number too large for a duration is a moment
	// since the Unix epoch.
	Unit time.Duration
}

// Budgets returns the budget, or none without its headers.
func (f Fields) Budgets(h http.Header, date time.Time) []Budget {
	g := group{name: f.Name, window: windowNamed(f.Name), reset: -1}
	unit := cmp.Or(max(f.Unit, 0), time.Second)
	for r, name := range [...]string{limit: f.Limit, window: f.Window, used: f.Used, remaining: f.Remaining, reset: f.Reset} {
		g.add(headerName{role: role(r), unit: unit}, h.Values(name), date)
	}
	return g.budgets()
}
