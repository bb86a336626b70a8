package upstream

import (
	"cmp"
	"time"

	"github.com/goweir/weir/internal/product"
)

const maxBudgets = 32 // of a response

// Budget is the state of one of an upstream's limits.
type Budget struct {
	// Name distinguishes the budgets of one response: the policy's name, or a part
	// of a header's name, such as "tokens". Often empty.
	Name string
	// Limit is the number of units of a full budget. -1: unknown.
	Limit int64
	// Remaining is the number of units left. -1: unknown.
	Remaining int64
	// Reset is the time until the budget is renewed: 0 if that is past. -1: unknown.
	Reset time.Duration
	// Window is the length of the budget. 0: unknown.
	Window time.Duration
	// Unit names the units, by the qu of a RateLimit-Policy: "requests",
	// "content-bytes", "concurrent-requests". A name with the word concurrent or
	// concurrency has the last one too. Empty: unknown.
	Unit string
	// Partition names the one of several budgets of this Name that counted the
	// request, by pk, or Discord's bucket. Often empty.
	Partition string
	// Informational: the upstream does not enforce the budget, by the name of its
	// header, such as Beta-RateLimit. It never pauses anything.
	Informational bool
}

// unsaid returns a budget without any value.
func unsaid(name string) Budget { return Budget{Name: name, Limit: -1, Remaining: -1, Reset: -1} }

// of returns b with its limit. A limit of 0 can't admit requests, so neither that
// limit nor its remaining 0 is believed.
func (b Budget) of(limit int64) Budget {
	switch {
	case limit > 0:
		b.Limit = limit
	case b.Remaining == 0:
		b.Remaining = -1
	}
	return b
}

// sane returns b without impossible values: a dialect may be the caller's own.
func (b Budget) sane() Budget {
	b.Limit = max(b.Limit, -1)
	b.Remaining = max(b.Remaining, -1)
	b.Reset = min(max(b.Reset, -1), maxTime)
	b.Window = min(max(b.Window, 0), maxTime)
	return b
}

// isRate reports whether units come back with time, not with the end of calls.
func (b Budget) isRate() bool { return b.Unit != "concurrent-requests" }

// exhausted reports whether nothing is left of an enforced budget, before its reset.
func (b Budget) exhausted() bool { return b.Remaining == 0 && b.Reset != 0 && !b.Informational }

// rank orders budgets: rates, then calls under way, then informational ones. Of each
// three the known parts of the share left count: the share, the units alone, nothing.
func (b Budget) rank() int {
	rank := 2
	switch {
	case b.Remaining == 0 || b.Remaining > 0 && b.Limit > 0:
		rank = 0
	case b.Remaining > 0:
		rank = 1
	}
	switch {
	case b.Informational:
		return rank + 6
	case !b.isRate():
		return rank + 3
	}
	return rank
}

// compare orders budgets: the smallest share left first, exactly. Among equal
// shares the longer reset is first, then the budget with more known values.
func compare(a, b Budget) int {
	if c := cmp.Compare(a.rank(), b.rank()); c != 0 {
		return c
	}
	c := 0
	switch a.rank() % 3 {
	case 0:
		c = product.Compare(a.Remaining, max(b.Limit, 1), b.Remaining, max(a.Limit, 1)) // The limit of an empty one may be unknown.
	case 1:
		c = cmp.Compare(a.Remaining, b.Remaining)
	}
	return cmp.Or(c,
		cmp.Compare(b.Reset, a.Reset),
		cmp.Compare(min(b.Limit, 0), min(a.Limit, 0)), // known before unknown
		cmp.Compare(a.Limit, b.Limit),
		cmp.Compare(b.Window, a.Window),
		cmp.Compare(a.Name, b.Name))
}
