package redisstore

import (
	"context"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// part is what a request takes of one key that is decided by itself.
type part struct {
	req      store.Request
	places   []int // of its charges in the whole request
	verdict  exact.Verdict
	outcomes []exact.Outcome
	receipt  *receipt // nil: nothing was taken that could be given back
}

// takeInOrder decides charges of several keys that no one server has, key after
// key in the request's order: what it takes is given back when a later key
// refuses or can't be asked. No limit is exceeded on the way, and of the keys
// after one that refuses nothing is taken, not even for a moment.
func (s *Store) takeInOrder(ctx context.Context, req *store.Request, whole *call) (store.Decision, error) {
	look := whole.mode() == "peek"
	if req.Hold.Asked() || req.MaxWait > 0 && !look {
		return store.Decision{}, ErrCrossSlot
	}
	parts := partsOf(req)
	for i := range parts {
		p, mode := &parts[i], "keep"
		switch {
		case look || p.req.Free():
			mode = "peek"
		case i == len(parts)-1 && !req.Cancelable:
			mode = "take"
		}
		err := s.askPart(ctx, p, mode)
		if err == nil && (p.verdict.Allowed || mode == "peek") {
			continue
		}
		if back := s.handBack(ctx, parts[:i]); err == nil {
			err = back
		}
		if err == nil {
			err = s.lookBeside(ctx, parts, i)
		}
		if err != nil {
			return store.Decision{}, err
		}
		return compose(req, parts, false), nil
	}
	d := compose(req, parts, !look)
	if req.Cancelable && d.Allowed && !look {
		d.Receipt = &receipts{parts: parts, charges: len(req.Charges)}
	}
	return d, nil
}

// partsOf sorts the charges of a request into those of each key.
func partsOf(req *store.Request) []part {
	parts := make([]part, 0, len(req.Charges))
	for first := range req.Charges {
		if earlier(req.Charges, first) {
			continue
		}
		p := part{req: store.Request{Cancelable: true}}
		for i := first; i < len(req.Charges); i++ {
			if c := &req.Charges[i]; c.Key == req.Charges[first].Key && c.Scope == req.Charges[first].Scope {
				p.req.Charges, p.places = append(p.req.Charges, *c), append(p.places, i)
			}
		}
		parts = append(parts, p)
	}
	return parts
}

// askPart has the script decide a part.
func (s *Store) askPart(ctx context.Context, p *part, mode string) error {
	c := s.newCall(&p.req, mode)
	v, outcomes, values, err := s.ask(ctx, c)
	if err != nil {
		return err
	}
	p.verdict, p.outcomes, p.receipt = v, outcomes, nil
	if len(values) == 2 && v.Allowed {
		p.receipt = &receipt{call: c, charges: p.req.Charges, values: values, slot: v.Slot}
	}
	return nil
}

// lookBeside finds what the parts beside a refusing one would say, and have left.
func (s *Store) lookBeside(ctx context.Context, parts []part, refusing int) error {
	for i := range parts {
		mode := "look"
		if parts[i].req.Free() {
			mode = "peek"
		}
		if i == refusing {
			continue
		}
		if err := s.askPart(ctx, &parts[i], mode); err != nil {
			return err
		}
	}
	return nil
}

// compose makes one decision of the parts'. Each server has a clock of its own:
// what lies ahead by one is as far ahead by the first's.
func compose(req *store.Request, parts []part, allowed bool) store.Decision {
	now := parts[0].verdict.Now
	v := exact.Verdict{Allowed: allowed, Now: now, Slot: now, Brakes: make([]exact.Braked, len(parts))}
	outcomes := make([]exact.Outcome, len(req.Charges))
	for i := range parts {
		p := &parts[i]
		by := now - p.verdict.Now
		for j, at := range p.places {
			o := &outcomes[at]
			o.Viewed, o.Brake, o.Slot = true, i, p.outcomes[j].Slot+by
			o.Remaining, o.Reset = exact.View(&req.Charges[at].Limit, p.outcomes[j].State, p.verdict.Now)
			v.Slot = max(v.Slot, o.Slot)
		}
		if p.verdict.Braked {
			k := p.verdict.Brakes[0]
			k.At, k.Paused, k.From = k.At+by, k.Paused+by, k.From+by
			v.Braked, v.Brakes[i] = true, k
		}
	}
	if allowed {
		v.Slot = now
	}
	return exact.Decide(req, v, outcomes)
}
