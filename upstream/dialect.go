package upstream

import (
	"net/http"
	"time"
)

// Dialect reads the rate headers of one kind of upstream. [Common], [Fields] and
// [All] are dialects. Implementations are safe for concurrent use.
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

// All joins several dialects into one.
type All []Dialect

// Budgets returns the budgets of all dialects.
func (a All) Budgets(h http.Header, date time.Time) []Budget {
	var budgets []Budget
	for _, d := range a {
		budgets = append(budgets, d.Budgets(h, date)...)
	}
	return budgets
}
