package fallback

import (
	"cmp"
	"context"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// plain makes a store that restores of any store. It charges spent units as far as they
// fit, and notices no losses. Decisions without an instant are by this process's clock.
type plain struct{ store.Store }

// Take implements store.Store. It takes the states from the decision.
func (p plain) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	for i := range req.Restore {
		if err := p.charge(ctx, &req.Restore[i]); err != nil {
			return store.Decision{}, err
		}
	}
	seen := req.Seen
	req.Seen, req.Restore = nil, nil
	d, err := p.Store.Take(ctx, req)
	for i := range seen {
		seen[i] = store.Seen{}
		if at := cmp.Or(d.At, store.Instant(time.Now().UnixMicro())); err == nil && d.Reason != store.ReasonNeverFits {
			seen[i] = store.Seen{At: at, Used: exact.UsedOf(&req.Charges[i].Limit, d.Charge(i), at)}
			if d.Delay > 0 {
				seen[i].Last = at + store.Instant(d.Delay.Microseconds())
			}
		}
	}
	return d, err
}

// charge charges the spent units of a key.
func (p plain) charge(ctx context.Context, m *store.Memory) error {
	if m.Spent == nil {
		return nil
	}
	req := store.Request{}
	for i := range m.Limits {
		req.Charges = append(req.Charges, store.Charge{Scope: m.Scope, Key: m.Key, Limit: m.Limits[i]})
	}
	d, err := p.Store.Take(ctx, req)
	if err != nil {
		return err
	}
	now := cmp.Or(int64(d.At), time.Now().UnixMicro())
	for i := range req.Charges {
		req.Charges[i].Cost = min(units(&m.Limits[i], m.Spent[i], now), d.Charge(i).Remaining)
	}
	_, err = p.Store.Take(ctx, req)
	return err
}

// units returns the units of a used limit that still count.
func units(l *store.Limit, used store.Used, now int64) int64 {
	r := exact.RuleOf(l)
	s := r.StateOf(used, now, now)
	if l.Algorithm == store.SlidingWindow {
		s.A, s.B = s.B, s.A // See View.
	}
	remaining, _ := r.View(&s, nil, now)
	return r.Max - remaining
}
