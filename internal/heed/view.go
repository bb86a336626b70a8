package heed

import (
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/upstream"
)

// View is a signal, compared with the limits that counted its request.
type View struct {
	// Target is the index of the booking whose key the brake is for.
	Target int
	// Remaining is the number of units left on the target, of the limit that the budget is,
	// or else of the tightest. A look at the store may lower it after View said Doubtful.
	Remaining int64
	// UnderWay is the number of other requests of the target's key that the upstream
	// may have counted since the grant. Compare leaves it 0.
	UnderWay int64

	signal   upstream.Signal
	booking  Booking
	ours     bool // the signal's budget is a limit of the target, and nothing is left of it
	again    bool // the key was refused before, and its pause has just ended
	second   bool // another budget says at which pace the target goes: this one pauses alone
	late     bool // a response to a later request advertised the booking's Gap
	compared comparison
}

// Compare returns the view of a signal. The bookings are those of its request,
// narrowest first, at least one. The view holds copies of both. The budgets are those
// of the response.
func Compare(s *upstream.Signal, budgets []upstream.Budget, bookings []Booking) View {
	heeded := *s
	if s.Informational {
		heeded.Budget = none
	}
	at, ours := target(&heeded, budgets, bookings)
	if s.Refused {
		if by, found := refuser(s, budgets, bookings); found {
			if at != by || !ours {
				heeded.Budget = none // It is another limiter's.
			}
			at = by
		}
	}
	return newView(&heeded, bookings, at, ours)
}

// none is a budget without any value.
var none = upstream.Budget{Limit: -1, Remaining: -1, Reset: -1}

func newView(s *upstream.Signal, bookings []Booking, at int, ours bool) View {
	b := &bookings[at]
	v := View{Target: at, signal: *s, booking: *b, ours: ours && s.Remaining == 0, compared: compare(s, bookings, b)}
	v.Remaining = v.left(b.Remaining, b.Charges)
	return v
}

// left returns the units left of the limit that the budget is, or else of the tightest.
func (v *View) left(tightest int64, charges []store.ChargeState) int64 {
	for i := range min(len(charges), len(v.booking.Limits)) {
		if v.compared.same == &v.booking.Limits[i] {
			return charges[i].Remaining
		}
	}
	return tightest
}

// usedByOthers reports whether strangers have used more than half of the limit.
func (v *View) usedByOthers() bool {
	return v.Remaining-v.UnderWay-v.signal.Remaining > v.signal.Limit/2
}

// gap returns the minimum time between two units; 0 when our limits are enough. The
// units left have to last until the reset where the upstream's limit is lower than
// ours, or where strangers have used much of it.
func (v *View) gap() time.Duration {
	s, c := &v.signal, &v.compared
	even := evenly(s, c.window)
	if v.booking.Gap > 0 && c.vague(s) {
		even = 0
	}
	switch {
	case c.lowered > 0:
		return max(c.lowered, even)
	case c.apart, even <= c.unit+c.unit/20:
		return 0
	case s.Limit > 0 && (v.booking.Gap > 0 || v.usedByOthers()): // A slow key has no more than a unit left.
		return even
	}
	return 0
}

// gapFor returns how long a gap lasts: for a lower limit as long as a brake may last, for
// few units left until the reset.
func (v *View) gapFor() time.Duration {
	if v.compared.lowered > 0 && !v.compared.brief && v.gap() <= stretched(v.compared.lowered) {
		return v.booking.MaxPause
	}
	return v.signal.Reset
}

// known reports whether a success with nothing left says nothing new: our sliding window
// knows when the next unit is free. It is news if our window has much left.
func (v *View) known() bool {
	same := v.compared.same
	return same != nil && same.Algorithm == store.SlidingWindow && v.booking.Gap == 0 && v.Remaining-v.UnderWay <= same.Rate/2
}

// vague reports whether the reset can't be the end of a window: more than a quarter of
// the units was used in less than a quarter of the time. Then some units are free sooner.
func (c *comparison) vague(s *upstream.Signal) bool {
	return c.window > 0 && s.Reset > c.window/4*3 && s.Remaining < s.Limit/4*3
}
