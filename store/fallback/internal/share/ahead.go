package share

import (
	"context"
	"slices"

	"github.com/goweir/weir/internal/keys"
	"github.com/goweir/weir/store"
)

// Parts are the bookings of one request whose cost exceeds the share, in order.
type Parts []part

// part is one booking of the local store, with its units of each charge.
type part struct {
	receipt any
	costs   []int64
}

// Or returns the parts. Without parts, one booking holds all units of the charges.
func (p Parts) Or(booking any, charges []store.Charge) Parts {
	if p != nil {
		return p
	}
	return Parts{{booking, costs(charges)}}
}

// Cut lowers the cost of each charge that exceeds its share but fits the whole limit. It
// returns the excess of each charge, or nil without any. The first part of a window's
// charge is the smallest, so it may fit into an open window.
func Cut(charges, whole []store.Charge) (over []int64) {
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

// TakeAhead books the excess of a request over its share, key by key. The first part
// takes the units that are left now. Each further part takes the first instant that has
// room for it, up to the maximum wait. Later calls wait for these bookings, so a fleet
// keeps the rate whatever its calls cost.
//
// It returns all bookings. d is the decision of the share, and gets the units that remain
// after them.
func TakeAhead(ctx context.Context, local store.Store, req store.Request, over []int64, d *store.Decision) Parts {
	parts := Parts{{d.Receipt, costs(req.Charges)}}
	req.Charges = slices.Clone(req.Charges)
	req.Hold, req.MaxWait = store.Hold{}, store.MaxPeriod
	for i := range req.Charges {
		req.Charges[i].Reserve = 0
	}
	for first := range req.Charges {
		if !keys.First(req.Charges, first) {
			continue
		}
		for n := 0; nextPart(req.Charges, first, over, d, n == 0); n++ {
			next, err := local.Take(ctx, req)
			if err != nil || !next.Allowed {
				break
			}
			parts = append(parts, part{next.Receipt, costs(req.Charges)})
			for i := range req.Charges {
				if keys.Same(&req.Charges[i], &req.Charges[first]) {
					tell(d, &req.Charges[i], i, next.Charge(i))
				}
			}
		}
	}
	return parts
}

// nextPart sets the charges with the key of the first-th to the next part of the excess,
// and all others to 0. It reports whether there is such a part. soonest limits the part to
// the units that are left now.
func nextPart(charges []store.Charge, first int, over []int64, d *store.Decision, soonest bool) (some bool) {
	for i := range charges {
		c := &charges[i]
		if c.Cost = 0; !keys.Same(c, &charges[first]) {
			continue
		}
		most := c.Limit.Max()
		if left := d.Charge(i).Remaining; soonest && left > 0 {
			most = left
		} else if c.Limit.Algorithm == store.SlidingCounter {
			most = (most + 1) / 2
		}
		c.Cost = min(over[i], most)
		over[i] -= c.Cost
		some = some || c.Cost > 0
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

func costs(charges []store.Charge) []int64 {
	costs := make([]int64, len(charges))
	for i := range charges {
		costs[i] = charges[i].Cost
	}
	return costs
}

// Settle corrects the bookings of charges to their real costs, the last part first: each part
// is booked behind the earlier ones. The parts may hold fewer units than the estimate. Units
// without a booking are not given back.
func (p Parts) Settle(ctx context.Context, local store.Settler, charges []store.Charge, cost func(charge int) int64) error {
	more := make([]int64, len(charges))
	for i := range more {
		booked := int64(0)
		for _, one := range p {
			booked += one.costs[i]
		}
		more[i] = max(cost(i)-charges[i].Cost, min(cost(i)-booked, 0))
	}
	for _, one := range slices.Backward(p) {
		to := slices.Clone(one.costs)
		for i := range to {
			if to[i] > 0 {
				change := max(more[i], -to[i])
				to[i] += change
				more[i] -= change
			}
		}
		if slices.Equal(to, one.costs) {
			continue
		}
		if err := local.Settle(ctx, one.receipt, to...); err != nil {
			return err
		}
	}
	return nil
}
