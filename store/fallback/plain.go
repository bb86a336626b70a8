package fallback

import (
	"context"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// plain makes any store a Restorer. It charges spent units as far as they fit, and
// notices no losses.
type plain struct{ store.Store }

// Take implements store.Store. It takes the states from the decision.
func (p plain) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	for _, m := range req.Restore {
		if _, err := p.Restore(ctx, m); err != nil {
			return store.Decision{}, err
		}
	}
	seen := req.Seen
	req.Seen, req.Restore = nil, nil
	d, err := p.Store.Take(ctx, req)
	for i := range seen {
		seen[i] = store.Seen{}
		if at := d.At; err == nil && d.Reason != store.ReasonNeverFits && at > 0 {
			seen[i] = store.Seen{At: at, Used: exact.UsedOf(&req.Charges[i].Limit, d.Charge(i), at)}
			if d.Delay > 0 {
				seen[i].Last = d.Slot
			}
		}
	}
	return d, err
}

// Restore implements store.Restorer.
func (p plain) Restore(ctx context.Context, m store.Memory) (lost bool, err error) {
	if m.Spent == nil {
		return false, nil
	}
	req := store.Request{}
	for i := range m.Limits {
		req.Charges = append(req.Charges, store.Charge{Scope: m.Scope, Key: m.Key, Limit: m.Limits[i]})
	}
	d, err := p.Store.Take(ctx, req)
	if err != nil {
		return false, err
	}
	now := int64(d.At)
	if now == 0 {
		now = time.Now().UnixMicro() // Without a clock of the store, spent units are by this process's.
	}
	for i := range req.Charges {
		r := exact.RuleOf(&m.Limits[i])
		s := r.StateOf(m.Spent[i], now, now)
		used := s.B
		if r.Limit.Algorithm != store.SlidingWindow {
			remaining, _ := r.View(&s, nil, now)
			used = r.Max - remaining
		} else if s.A+r.Period <= now {
			used = 0
		}
		req.Charges[i].Cost = min(used, d.Charge(i).Remaining)
	}
	_, err = p.Store.Take(ctx, req)
	return false, err
}
