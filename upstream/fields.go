package upstream

import (
	"net/http"
	"time"
)

// Fields is a dialect of one budget, given by the names of its headers, for an
// upstream that [Common] does not understand, or understands wrongly. A name
// that is empty is of a header the upstream doesn't send.
type Fields struct {
	// Name is the budget's.
	Name string
	// Limit, Remaining and Used name headers that count units. Used matters
	// only when nothing is said of what remains, and a limit is.
	Limit, Remaining, Used string
	// Reset names the header that says when the budget is renewed, and Window
	// the one that says how long it lasts.
	Reset, Window string
	// Unit is that of their numbers, for example time.Millisecond. 0: the
	// second. A number too large for a duration is a moment since the Unix
	// epoch.
	Unit time.Duration
}

// Budgets returns the budget, or none when its headers are not there.
func (f Fields) Budgets(h http.Header, date time.Time) []Budget {
	g := group{
		name:      f.Name,
		limit:     parseCounts(h.Values(f.Limit)),
		remaining: parseCounts(h.Values(f.Remaining)),
		used:      parseCounts(h.Values(f.Used)),
		reset:     -1,
	}
	unit := f.Unit
	if unit <= 0 {
		unit = time.Second
	}
	g.addReset(headerName{unit: unit}, h.Values(f.Reset), date)
	if d, ok := within(first(h.Values(f.Window)), unit, date); ok {
		g.window = d
	}
	return g.budgets()
}
