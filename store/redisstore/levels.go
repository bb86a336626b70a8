package redisstore

import (
	"context"
	"errors"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/rediscall"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/script"
)

// part is the part of a request for one key that is decided by itself.
type part struct {
	req      store.Request
	key      script.Key
	places   []int // of its charges in the whole request
	verdict  exact.Verdict
	outcomes []exact.Outcome
	receipt  *receipt // nil: no units were taken that could be given back
}

// receipts settles a request that was decided key after key.
type receipts struct {
	parts   []part
	charges int
}

// takeInOrder decides charges of several keys on several servers, key after key in the
// request's order. It gives their units back when a later key refuses or fails. No limit is
// exceeded meanwhile, and keys after a refusal are not charged.
func (s *Store) takeInOrder(ctx context.Context, req *store.Request, keys []script.Key) (store.Decision, error) {
	look := req.Free() || req.NeverFits() >= 0
	if req.Hold.Asked() || req.MaxWait > 0 && !look {
		return store.Decision{}, ErrCrossSlot
	}
	parts := partsOf(req, keys)
	for i := range parts {
		p := &parts[i]
		p.req.Cancelable = i < len(parts)-1 || req.Cancelable
		mode := modeOf(&p.req)
		if look {
			mode = script.Look
		}
		err := s.askPart(ctx, p, mode)
		if err == nil && (p.verdict.Allowed || mode == script.Look) {
			continue
		}
		if back := s.handBack(ctx, parts[:i]); err == nil {
			err = back
		}
		for j := range parts {
			if j == i || err != nil {
				continue
			}
			if mode = modeOf(&parts[j].req); mode == script.All {
				mode = script.Find
			}
			err = s.askPart(ctx, &parts[j], mode)
		}
		if err != nil {
			return store.Decision{}, err
		}
		return compose(req, parts, false), nil
	}
	d := compose(req, parts, !look)
	if req.Cancelable && d.Allowed && !look {
		d.Receipt = &receipts{parts, len(req.Charges)}
	}
	return d, nil
}

func partsOf(req *store.Request, keys []script.Key) []part {
	parts := make([]part, len(keys))
	for i, k := range keys {
		p := &parts[i]
		p.key, p.places, p.key.Places = k, k.Places, nil
		for j, at := range p.places {
			p.req.Charges, p.key.Places = append(p.req.Charges, req.Charges[at]), append(p.key.Places, j)
			if req.Seen != nil {
				p.req.Seen = append(p.req.Seen, req.Seen[at])
			}
		}
		for _, m := range req.Restore {
			if c := &p.req.Charges[0]; m.Scope == c.Scope && m.Key == c.Key {
				p.req.Restore = append(p.req.Restore, m)
			}
		}
	}
	return parts
}

// askPart makes the script decide a part, or look at it.
func (s *Store) askPart(ctx context.Context, p *part, mode script.Mode) (err error) {
	p.verdict, p.outcomes, p.receipt, err = s.ask(ctx, &p.req, []script.Key{p.key}, mode)
	if p.receipt != nil {
		p.receipt.charges = p.req.Charges
	}
	return err
}

// compose joins the decisions of the parts. Each server has its own clock, so slots keep
// their distance from now.
func compose(req *store.Request, parts []part, allowed bool) store.Decision {
	now := parts[0].verdict.Now
	v := exact.Verdict{Allowed: allowed, Now: now, Slot: now}
	outcomes := make([]exact.Outcome, len(req.Charges))
	for i := range parts {
		p := &parts[i]
		for j, at := range p.places {
			o := &outcomes[at]
			*o = p.outcomes[j]
			if req.Seen != nil {
				req.Seen[at] = p.req.Seen[j]
			}
			o.Key = i
			if o.Slot += now - p.verdict.Now; !allowed {
				v.Slot = max(v.Slot, o.Slot)
			}
		}
		v.Keys = append(v.Keys, p.verdict.Keys[0])
	}
	return exact.Decide(req, &v, outcomes)
}

// handBack gives the units of parts back, the widest first.
func (s *Store) handBack(ctx context.Context, parts []part) error {
	return rediscall.GiveBack(ctx, func(ctx context.Context) error {
		return s.settleParts(ctx, parts, func(int) int64 { return 0 })
	})
}

// settleParts corrects each part, the widest first, also after the error of another.
func (s *Store) settleParts(ctx context.Context, parts []part, cost func(charge int) int64) error {
	var errs []error
	for i := len(parts) - 1; i >= 0; i-- {
		p := &parts[i]
		if p.receipt == nil {
			continue
		}
		if err := s.settle(ctx, p.receipt, func(charge int) int64 { return cost(p.places[charge]) }); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
