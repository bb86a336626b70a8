package upstream

import (
	"cmp"
	"math/bits"
	"time"
)

// Budget is one of the limits an upstream counts a caller against, and where
// the caller stands with it.
type Budget struct {
	// Name tells it from the others of the same response: the name of its
	// policy, or what a header's name says besides, such as "tokens". Often
	// empty.
	Name string
	// Limit is how many units it holds when it is full. -1: not said.
	Limit int64
	// Remaining is how many units are left. -1: not said.
	Remaining int64
	// Reset is how long it is until the budget is renewed: 0 when that has
	// happened already. -1: not said.
	Reset time.Duration
	// Window is how long the budget lasts. 0: not said.
	Window time.Duration
	// Unit is what is counted, as the qu of a RateLimit-Policy says:
	// "requests", "content-bytes", "concurrent-requests". Empty: not said.
	Unit string
}

// unsaid is a budget of which nothing is known.
func unsaid(name string) Budget { return Budget{Name: name, Limit: -1, Remaining: -1, Reset: -1} }

// of returns b with its limit. One that is 0 can't be true of what admits requests:
// it says nothing, and neither does it that nothing is left of it.
func (b Budget) of(limit int64) Budget {
	switch {
	case limit > 0:
		b.Limit = limit
	case b.Remaining == 0:
		b.Remaining = -1
	}
	return b
}

// sane returns b without what can't be: a dialect may be the caller's own.
func (b Budget) sane() Budget {
	b.Limit = max(b.Limit, -1)
	b.Remaining = max(b.Remaining, -1)
	b.Reset = min(max(b.Reset, -1), longest)
	b.Window = min(max(b.Window, 0), longest)
	return b
}

// isRate reports whether units come back with time, and not when calls end.
func (b Budget) isRate() bool { return b.Unit != "concurrent-requests" }

// exhausted reports whether nothing is left, and this is not over yet.
func (b Budget) exhausted() bool { return b.Remaining == 0 && b.Reset != 0 }

// rank says how much is known of the share that is left.
func (b Budget) rank() int {
	switch {
	case b.Remaining == 0 || b.Remaining > 0 && b.Limit > 0:
		return 0 // the share
	case b.Remaining > 0:
		return 1 // the units, but not of how many
	}
	return 2
}

// compare orders budgets: the one with the smallest share left first, exactly.
// Of equal shares the one that stays so for longer is first, then the one that
// says more.
func compare(a, b Budget) int {
	if c := cmp.Compare(a.rank(), b.rank()); c != 0 {
		return c
	}
	c := 0
	switch a.rank() {
	case 0:
		c = compareShares(a, b)
	case 1:
		c = cmp.Compare(a.Remaining, b.Remaining)
	}
	return cmp.Or(c,
		cmp.Compare(b.Reset, a.Reset),
		cmp.Compare(min(b.Limit, 0), min(a.Limit, 0)), // said before not said
		cmp.Compare(a.Limit, b.Limit),
		cmp.Compare(b.Window, a.Window),
		cmp.Compare(a.Name, b.Name))
}

// compareShares compares a.Remaining/a.Limit with b.Remaining/b.Limit.
func compareShares(a, b Budget) int {
	if a.Remaining == 0 || b.Remaining == 0 {
		return cmp.Compare(a.Remaining, b.Remaining)
	}
	ahi, alo := bits.Mul64(uint64(a.Remaining), uint64(b.Limit))
	bhi, blo := bits.Mul64(uint64(b.Remaining), uint64(a.Limit))
	return cmp.Or(cmp.Compare(ahi, bhi), cmp.Compare(alo, blo))
}
