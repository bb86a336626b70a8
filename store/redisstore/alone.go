package redisstore

import (
	"context"
	"errors"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/rediscall"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/script"
)

// takeAlone decides a request in a call of its own.
func (s *Store) takeAlone(ctx context.Context, req *store.Request) (store.Decision, error) {
	keys := s.keysOf(req)
	if len(keys) > 1 && s.slotted.Load() {
		return s.takeInOrder(ctx, req, keys)
	}
	outcomes := make([]exact.Outcome, len(req.Charges))
	v, booked, err := s.ask(ctx, req, keys, modeOf(req), outcomes)
	switch {
	case len(keys) > 1 && errors.Is(err, ErrCrossSlot): // The server has decided nothing.
		return s.takeInOrder(ctx, req, keys)
	case err != nil:
		return store.Decision{}, err
	}
	d := exact.Decide(req, &v, outcomes)
	if d.Allowed && booked != nil {
		d.Receipt = receiptOf(req, booked)
	}
	return d, nil
}

// takeInOrder decides charges of several keys on several servers, key after key in the
// request's order. It gives their units back when a later key refuses or fails. No limit is
// exceeded meanwhile, and keys after a refusal are not charged.
func (s *Store) takeInOrder(ctx context.Context, req *store.Request, keys []script.Key) (store.Decision, error) {
	mode := modeOf(req)
	if req.Hold.Asked() || req.MaxWait > 0 && mode == script.All {
		return store.Decision{}, ErrCrossSlot
	}
	outcomes, verdicts, r := make([]exact.Outcome, len(req.Charges)), make([]exact.Verdict, len(keys)), receiptOf(req, nil)
	ask := func(i int, mode string) error {
		part := partOf(req, &keys[i])
		part.Cancelable = i < len(keys)-1 || req.Cancelable
		v, booked, err := s.ask(ctx, part, keys[i:i+1], mode, outcomes)
		verdicts[i], r.keys = v, append(r.keys, booked...)
		return err
	}
	for i := range keys {
		err := ask(i, mode)
		if err == nil && (verdicts[i].Allowed || mode == script.Look) {
			continue
		}
		back := rediscall.GiveBack(ctx, func(ctx context.Context) error { return s.settle(ctx, r, func(int) int64 { return 0 }) })
		if err == nil {
			err = back
		}
		for j := range keys {
			if j != i && err == nil {
				err = ask(j, script.Find)
			}
		}
		if err != nil {
			return store.Decision{}, err
		}
		return compose(req, keys, verdicts, outcomes, false), nil
	}
	d := compose(req, keys, verdicts, outcomes, mode == script.All)
	if req.Cancelable && d.Allowed && mode == script.All {
		d.Receipt = r
	}
	return d, nil
}

// partOf returns a request that restores one key alone.
func partOf(req *store.Request, k *script.Key) *store.Request {
	part, c := *req, &req.Charges[k.Places[0]]
	part.Restore = nil
	for _, m := range req.Restore {
		if m.Scope == c.Scope && m.Key == c.Key {
			part.Restore = append(part.Restore, m)
		}
	}
	return &part
}

// compose joins the decisions of the keys. Each server has its own clock, so slots keep
// their distance from now.
func compose(req *store.Request, keys []script.Key, verdicts []exact.Verdict, outcomes []exact.Outcome, allowed bool) store.Decision {
	now := verdicts[0].Now
	v := exact.Verdict{Allowed: allowed, Now: now, Slot: now}
	for i := range keys {
		for _, at := range keys[i].Places {
			o := &outcomes[at]
			o.Key = i
			if o.Slot += now - verdicts[i].Now; !allowed {
				v.Slot = max(v.Slot, o.Slot)
			}
		}
		v.Keys = append(v.Keys, verdicts[i].Keys[0])
	}
	return exact.Decide(req, &v, outcomes)
}

// modeOf returns the mode in which the script decides a request.
func modeOf(req *store.Request) string {
	if req.Free() || req.NeverFits() >= 0 {
		return script.Look
	}
	return script.All
}

// ask sends keys of a request to the script, to decide them or to look. It sets the outcomes
// of their charges, and returns a receipt for each booked key of a Cancelable request.
func (s *Store) ask(ctx context.Context, req *store.Request, keys []script.Key, mode string, outcomes []exact.Outcome) (v exact.Verdict, booked []*script.Receipt, err error) {
	tag := int64(0)
	if req.Cancelable && mode == script.All {
		tag = s.tag()
	}
	args := script.TakeArgs(req, keys, s.clock(), tag, mode)
	var reply any
	if len(req.Restore) > 0 {
		reply, err = s.restoreAnd(ctx, req.Restore, args)
	} else {
		reply, err = s.runScript(ctx, &script.Take, args).Result()
	}
	if err != nil {
		return v, nil, err
	}
	list := script.NewReply(reply)
	v.Now, v.Slot, v.Full = list.Number(), list.Number(), list.Number()
	v.Allowed = mode == script.All && v.Slot-v.Now <= exact.MaxWait(req) && v.Full == 0
	var room [4]script.State
	again, lost := false, false
	for i := range keys {
		k := &keys[i]
		a := list.Answer(k, 0, room[:0], v.Now)
		lost = lost || a.Lost()
		if a.Calls >= 0 {
			see(req, k, &a, v.Now)
			v.Keys = append(v.Keys, a.View(k.Limits, a.States, k.Places, outcomes, i, v.Now))
		}
		if again = again || a.NeedsLog(); a.NeedsLog() {
			k.Logged = true
		}
		if tag > 0 {
			if part := list.Receipt(*k, &a); a.Calls > 0 {
				booked = append(booked, part)
			}
		}
	}
	if err := list.End(); err != nil {
		return v, nil, err
	}
	if lost {
		return v, nil, store.ErrLost
	}
	if again {
		return s.ask(ctx, req, keys, mode, outcomes)
	}
	if mode == script.Look && req.Hold.Asked() && req.NeverFits() < 0 {
		v.Allowed = v.Full == 0 // A lease alone waits for no slot.
	}
	return v, booked, nil
}
