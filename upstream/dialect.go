package upstream

import (
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Dialect reads what the headers of one kind of upstream say of its limits.
// [Common], [Fields] and [All] are dialects; a caller's own needs this one
// method. It is called from many goroutines at once.
type Dialect interface {
	// Budgets returns the budgets that h speaks of, in any order; none when it
	// speaks of none. Moments are made durations by measuring them against
	// date, the Date of the response. h must not be changed.
	Budgets(h http.Header, date time.Time) []Budget
}

// Common is the dialect of upstreams that no other is named for. It reads the
// headers that the package's documentation lists, of any vendor.
type Common struct{}

// Budgets returns the budgets that h speaks of.
func (Common) Budgets(h http.Header, date time.Time) []Budget {
	found, budgets := families(h, date)
	for _, f := range found {
		budgets = append(budgets, f.budgets()...)
	}
	return budgets
}

// All is a dialect that understands what any of its dialects does.
type All []Dialect

// Budgets returns the budgets of all dialects.
func (a All) Budgets(h http.Header, date time.Time) []Budget {
	var budgets []Budget
	for _, d := range a {
		budgets = append(budgets, d.Budgets(h, date)...)
	}
	return budgets
}

// dialect returns the one that is named for the host that answered.
func (r *Reader) dialect(resp *http.Response) Dialect {
	if r == nil || len(r.Dialects) == 0 || resp.Request == nil || resp.Request.URL == nil {
		return Common{}
	}
	return r.named(resp.Request.URL)
}

// named returns the dialect that is named for a host, or Common.
func (r *Reader) named(u *url.URL) Dialect {
	if d := r.Dialects[strings.ToLower(u.Host)]; d != nil {
		return d
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if d := r.Dialects[host]; d != nil {
		return d
	}
	var buf [256]byte // longer than a host may be, so that nothing is allocated
	for {
		i := strings.IndexByte(host, '.')
		if i < 0 {
			return Common{}
		}
		pattern := append(append(buf[:0], '*'), host[i:]...)
		if d := r.Dialects[string(pattern)]; d != nil {
			return d
		}
		host = host[i+1:]
	}
}
