package fallback

import (
	"context"
	"slices"

	"github.com/goweir/weir/store"
)

// part is one booking of the local store, with its units of each charge.
type part struct {
	of    any // its receipt
	costs []int64
}

// cut lowers the cost of each charge that exceeds this process's share but fits the whole
// limit. It returns the excess of each charge, or nil without any. The first part of a
// window's charge is the smallest, so it may fit into an open window.
func cut(charges, whole []store.Charge) (over []int64) {
	for i := range charges {
		c := &charges[i]
		most := c.Limit.Max()
		if c.Cost <= most || c.Cost > whole[i].Limit.Max() {
			continue
		}
		if over == nil {
			over = make([]int64, len(charges))
		}
		first := most
		if c.Limit.Algorithm != store.GCRA {
			first = (c.Cost-1)%most + 1
		}
		over[i], c.Cost = c.Cost-first, first
	}
	return over
}

// takeAhead books the excess of a request over its share, key by key. The first part
// takes the units that are left now. Each further part takes the first instant that has
// room for it, up to the maximum wait. Later calls wait for these bookings, so a fleet
// keeps the rate whatever its calls cost.
//
// takeAhead returns all bookings. d is the decision of the share, and gets the units that
// remain after them.
func (s *Store) takeAhead(ctx context.Context, req store.Request, over []int64, d *store.Decision) []part {
	ctx = context.WithoutCancel(ctx)
	parts := []part{{d.Receipt, costs(req.Charges)}}
	req.Charges = slices.Clone(req.Charges)
	req.Hold, req.MaxWait = store.Hold{}, store.MaxPeriod
	left := make([]int64, len(over))
	for i := range left {
		req.Charges[i].Reserve, left[i] = 0, free(&req.Charges[i].Limit, d.Charge(i))
	}
	for first := range req.Charges {
		for places := group(req.Charges, first); nextPart(req.Charges, places, over, left); {
			next, err := s.cfg.Local.Take(ctx, req)
			if err != nil || !next.Allowed {
				break
			}
			parts = append(parts, part{next.Receipt, costs(req.Charges)})
			for _, i := range places {
				tell(d, &req.Charges[i], i, next.Charge(i))
			}
		}
	}
	return parts
}

// nextPart sets the charges at places to the next part of the excess, and all others to
// 0. It reports whether there is such a part.
func nextPart(charges []store.Charge, places []int, over, left []int64) (some bool) {
	for i := range charges {
		charges[i].Cost = 0
	}
	for _, i := range places {
		most := charges[i].Limit.Max()
		switch {
		case left[i] > 0:
			most = left[i]
		case charges[i].Limit.Algorithm == store.SlidingCounter:
			most = (most + 1) / 2
		}
		charges[i].Cost = min(over[i], most)
		over[i], left[i] = over[i]-charges[i].Cost, 0
		some = some || charges[i].Cost > 0
	}
	return some
}

// tell writes the remaining units of the i-th charge into a decision.
func tell(d *store.Decision, c *store.Charge, i int, st store.ChargeState) {
	if d.Charges != nil {
		d.Charges[i].Remaining, d.Charges[i].ResetAfter = st.Remaining, st.ResetAfter
	}
	if d.Limit == c.Limit && d.Scope == c.Scope {
		d.Remaining, d.ResetAfter = st.Remaining, st.ResetAfter
	}
}

// bookedOut reports whether a state is that of a window that starts later. No unit is
// free before that start.
func bookedOut(l *store.Limit, st store.ChargeState) bool {
	return (l.Algorithm == store.FixedWindow || l.Algorithm == store.AlignedWindow) && st.ResetAfter > l.Period
}

// free returns the free units of a limit before its window ends.
func free(l *store.Limit, st store.ChargeState) int64 {
	if bookedOut(l, st) {
		return 0
	}
	return st.Remaining
}

func costs(charges []store.Charge) []int64 {
	costs := make([]int64, len(charges))
	for i := range charges {
		costs[i] = charges[i].Cost
	}
	return costs
}

// cancelParts cancels local bookings, the last part first: each part is booked behind the
// earlier ones.
func cancelParts(ctx context.Context, local store.Canceler, r *receipt) error {
	for _, p := range slices.Backward(r.parts) {
		if err := local.Cancel(ctx, p.of); err != nil {
			return err
		}
	}
	if r.parts != nil {
		return nil
	}
	return local.Cancel(ctx, r.of)
}

// settleParts corrects bookings in parts, the last part first. The parts may hold fewer
// units than the estimate. Units without a booking are not given back.
func settleParts(ctx context.Context, local store.Settler, r *receipt, cost func(charge int) int64) error {
	more := make([]int64, len(r.charges))
	for i := range more {
		booked := int64(0)
		for _, p := range r.parts {
			booked += p.costs[i]
		}
		more[i] = max(cost(i)-r.charges[i].Cost, min(cost(i)-booked, 0))
	}
	for _, p := range slices.Backward(r.parts) {
		to := slices.Clone(p.costs)
		for i := range to {
			if to[i] > 0 {
				change := max(more[i], -to[i])
				to[i] += change
				more[i] -= change
			}
		}
		if slices.Equal(to, p.costs) {
			continue
		}
		if err := local.Settle(ctx, p.of, to...); err != nil {
			return err
		}
	}
	return nil
}
