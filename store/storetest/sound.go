package storetest

import (
	"fmt"
	"time"

	"github.com/goweir/weir/internal/product"
	"github.com/goweir/weir/store"
)

// sound returns an error if no history can lead to a decision. It checks each one.
func sound(req store.Request, d store.Decision) error {
	switch never := req.NeverFits() >= 0; {
	case d.Allowed != (d.Reason == store.ReasonAllowed):
		return fmt.Errorf("allowed is %v, Reason %v", d.Allowed, d.Reason)
	case never != (d.Reason == store.ReasonNeverFits) || never != (d.RetryAfter == store.Never):
		return fmt.Errorf("reason is %v and RetryAfter %v; that a cost never fits is %v", d.Reason, d.RetryAfter, never)
	case d.Allowed && (d.RetryAfter != 0 || d.Delay > req.MaxWait):
		return fmt.Errorf("allowed with RetryAfter %v and a Delay of %v within MaxWait %v", d.RetryAfter, d.Delay, req.MaxWait)
	case d.Reason == store.ReasonInFlight && (!req.Hold.Asked() || d.RetryAfter <= 0):
		return fmt.Errorf("refused as %v with RetryAfter %v by a hold of %+v", d.Reason, d.RetryAfter, req.Hold)
	case (d.Reason == store.ReasonLimited || d.Reason == store.ReasonPaused) && d.RetryAfter <= min(req.MaxWait, store.MaxPeriod/4):
		return fmt.Errorf("refused with RetryAfter %v within MaxWait %v", d.RetryAfter, req.MaxWait)
	case !d.Allowed && d.Delay != 0:
		return fmt.Errorf("refused with a Delay of %v", d.Delay)
	case req.Peek() && (!d.Allowed || d.Delay != 0):
		return fmt.Errorf("a look is refused, or has a Delay of %v", d.Delay)
	case d.Receipt != nil && !(req.Cancelable && d.Allowed):
		return fmt.Errorf("a Receipt, without being asked for one or allowed")
	case len(req.Charges) == 1 && d.Charges != nil, len(req.Charges) > 1 && len(d.Charges) != len(req.Charges):
		return fmt.Errorf("%d Charges for a request of %d", len(d.Charges), len(req.Charges))
	}
	for _, v := range []time.Duration{d.Delay, d.RetryAfter, d.ResetAfter} {
		if !whole(v) {
			return fmt.Errorf("a duration of %v, want whole microseconds", v)
		}
	}
	return soundCharges(req, d)
}

// soundCharges checks each charge, and the choice of the binding limit.
func soundCharges(req store.Request, d store.Decision) error {
	bound, longest := false, time.Duration(0)
	for i := range req.Charges {
		l, c := req.Charges[i].Limit, d.Charge(i)
		switch {
		case c.Remaining < 0 || c.Remaining > l.Max():
			return fmt.Errorf("limit %d: %d of %d remaining", i, c.Remaining, l.Max())
		case !whole(c.ResetAfter) || !whole(c.RetryAfter):
			return fmt.Errorf("limit %d: durations of %v and %v, want whole microseconds", i, c.ResetAfter, c.RetryAfter)
		case (d.Allowed || d.Reason == store.ReasonInFlight) && c.RetryAfter != 0:
			return fmt.Errorf("limit %d: admits with RetryAfter %v", i, c.RetryAfter)
		case (req.Charges[i].Cost > l.Max()) != (c.RetryAfter == store.Never):
			return fmt.Errorf("limit %d: RetryAfter %v for %d of %d", i, c.RetryAfter, req.Charges[i].Cost, l.Max())
		case d.Allowed && product.Compare(c.Remaining, d.Limit.Max(), d.Remaining, l.Max()) < 0:
			return fmt.Errorf("limit %d has %d of %d remaining, a smaller share than the binding limit's %d of %d", i, c.Remaining, l.Max(), d.Remaining, d.Limit.Max())
		}
		longest = max(longest, c.RetryAfter)
		bound = bound || l == d.Limit && req.Charges[i].Scope == d.Scope && c.Remaining == d.Remaining && c.ResetAfter == d.ResetAfter
	}
	switch {
	case !bound:
		return fmt.Errorf("the binding limit %v of scope %q with %d remaining, reset after %v, is none of the request's", d.Limit, d.Scope, d.Remaining, d.ResetAfter)
	case !d.Allowed && d.Reason != store.ReasonInFlight && longest != d.RetryAfter:
		return fmt.Errorf("RetryAfter is %v, the limits' longest %v", d.RetryAfter, longest)
	}
	return nil
}

func whole(d time.Duration) bool { return d == store.Never || d >= 0 && d%time.Microsecond == 0 }
