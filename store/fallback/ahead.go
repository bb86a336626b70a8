package fallback

import (
	"context"
	"slices"

	"github.com/goweir/weir/store"
)

// mostParts bounds how small a share is: a call that takes the whole limit takes
// about so many.
const mostParts = 1024

// part is what one booking of the local store took of each charge.
type part struct {
	of    any // its receipt
	costs []int64
}

// cut takes off the charges, which are on this process's share, what they cost more
// than the share ever holds, where that fits the whole limit. It returns how much
// that is of each, nil when nothing is. Of a window the last of the parts is taken
// first, so that what the last part of a call before has left is not lost.
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

// takeAhead books what a request costs over what was granted of the share: first
// what is left now, then in parts that fit, each at the first instant at which it
// does, key by key. Whoever comes next waits for them, so calls of any costs together
// keep the rate. It returns all that was booked, and has d, which is what was
// granted, say what is left after that.
//
// What would be booked further ahead than anybody may wait, is not.
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

// nextPart has the charges at places cost the next part of what is over, and no
// others anything. It reports whether there is any.
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

// tell has a decision say what is left of the limit of its i-th charge.
func tell(d *store.Decision, c *store.Charge, i int, st store.ChargeState) {
	if d.Charges != nil {
		d.Charges[i].Remaining, d.Charges[i].ResetAfter = st.Remaining, st.ResetAfter
	}
	if d.Limit == c.Limit && d.Scope == c.Scope {
		d.Remaining, d.ResetAfter = st.Remaining, st.ResetAfter
	}
}

// ahead returns about how many units are used of a share of which some are booked
// ahead, as many as it admits in the time until it is as if never used; 0 when
// none are.
func ahead(share *store.Limit, st store.ChargeState) int64 {
	period := share.Period
	if share.Algorithm == store.SlidingCounter {
		period *= 2 // A unit counts in two windows.
	}
	if share.Algorithm != store.GCRA && st.ResetAfter <= period {
		return 0
	}
	return scale(share.Rate, int64(st.ResetAfter), int64(period))
}

func costs(charges []store.Charge) []int64 {
	costs := make([]int64, len(charges))
	for i := range charges {
		costs[i] = charges[i].Cost
	}
	return costs
}

// cancelParts cancels what was booked here, the last part first, so that each is
// cancelled before anything that was booked ahead of it.
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

// settleParts corrects what was booked in parts, the last part first. That may be
// less than the estimate: what was never booked is not given back.
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
