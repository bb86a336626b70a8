package weir

import (
	"context"
	"time"

	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/internal/product"
	"github.com/goweir/weir/store"
)

// ReserveLevels is [AllowLevels] for a call that may not be made, or whose cost is
// corrected afterwards. Cancel gives all units back to all levels; Settle and
// SettleLevels correct the cost. The slot is now, or there is none: the Reservation
// has no Delay. To wait for a slot, use [WaitLevels].
//
// A refusal is a Decision, not an error, and comes without a Reservation. If ctx
// ends before the store answers, ReserveLevels returns the context's error and
// gives the granted units back.
func ReserveLevels(ctx context.Context, levels ...Level) (*Reservation, Decision, error) {
	if err := checkLevels(ctx, levels); err != nil {
		return nil, Decision{}, err
	}
	r, d, err := reserveLevels(ctx, levels)
	if err == nil {
		observeLevels(ctx, levels, &d)
	}
	return r, decisionOf(&d), err
}

// reserveLevels takes of all levels at once, now.
func reserveLevels(ctx context.Context, levels []Level) (*Reservation, store.Decision, error) {
	d, err := takeLevels(ctx, levels, true)
	if err != nil || !d.Allowed {
		return nil, d, err
	}
	if err := ctx.Err(); err != nil {
		first := levels[0].Limiter
		line.Linger(first.lines.HandBack(ctx, levels[0].id(), d.Receipt))
		return nil, store.Decision{}, err
	}
	return reserved(levels, d, time.Now()), d, nil
}

// reserved returns the reservation of units taken of levels at once.
func reserved(levels []Level, d store.Decision, now time.Time) *Reservation {
	taken := make([]levelTaken, len(levels))
	for i := range levels {
		taken[i] = levelTaken{cost: levels[i].cost(), charges: len(levels[i].limits())}
	}
	return &Reservation{limiter: levels[0].Limiter, id: levels[0].id(), decision: d, at: now, levels: taken}
}

// mergeLevels returns the decision on all levels, each booked alone, as of the
// instant at which the last slot came.
func mergeLevels(levels []Level, taken []levelTaken) store.Decision {
	d := store.Decision{Allowed: true}
	binds := false
	for i := range taken {
		alone := taken[i].alone
		since, limits := time.Since(alone.at), levels[i].limits()
		d.Degraded, d.At = d.Degraded || alone.decision.Degraded, alone.decision.At
		for j := range limits {
			c := alone.decision.Charge(j)
			c.ResetAfter = max(0, c.ResetAfter-since)
			d.Charges = append(d.Charges, c)
			if !binds || product.Compare(c.Remaining, d.Limit.Max(), d.Remaining, limits[j].Max()) < 0 {
				binds = true
				d.Scope, d.Limit, d.Remaining, d.ResetAfter = levels[i].Limiter.name, store.Limit(limits[j]), c.Remaining, c.ResetAfter
			}
		}
	}
	if len(d.Charges) == 1 {
		d.Charges = nil
	}
	return d
}
