package redisstore

import (
	"context"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/script"
)

// receipt settles a request. It has one part for each key.
type receipt struct {
	keys    []*script.Receipt
	charges []store.Charge
}

// Windows returns the slot at the booking, by the store's clock, and the windows with a
// beginning that counted it. Of several keys it returns those of the first.
func (r *receipt) Windows() (real int64, list []exact.Window) { return r.keys[0].Windows() }

// modeOf returns the mode in which the script decides a request.
func modeOf(req *store.Request) script.Mode {
	if req.Free() || req.NeverFits() >= 0 {
		return script.Look
	}
	return script.All
}

// ask sends a request to the script, to decide it or to look.
func (s *Store) ask(ctx context.Context, req *store.Request, keys []script.Key, mode script.Mode) (v exact.Verdict, outcomes []exact.Outcome, r *receipt, err error) {
	tag := int64(0)
	if req.Cancelable && mode == script.All {
		tag = int64(s.tags.Add(1)&(1<<32-1)) + 1 // It tells a key's state from one after a Reset.
	}
	held := ""
	if req.Hold.Asked() {
		held = rediskey.Held(s.name(req.Charges[0].Scope, req.Charges[0].Key))
	}
	args := script.TakeArgs(req, keys, held, s.clock(), tag, mode)
	var reply any
	if len(req.Restore) > 0 {
		reply, err = s.restoreAnd(ctx, req.Restore, args)
	} else {
		reply, err = s.run(ctx, &script.Take, args)
	}
	if err != nil {
		return v, nil, nil, err
	}
	list := script.NewReply(reply)
	v.Now, v.Slot, v.Full = list.Number(), list.Number(), list.Number()
	outcomes = make([]exact.Outcome, len(req.Charges))
	v.Allowed = mode == script.All
	var room [4]script.State
	again, lost := false, false
	for i := range keys {
		k := &keys[i]
		a := list.Answer(k.Limits, 1, room[:0], v.Now)
		lost = lost || a.Lost()
		if a.Calls >= 0 {
			see(req, k, &a, v.Now)
			v.Keys = append(v.Keys, a.View(k.Limits, k.Places, outcomes, i, v.Now))
		}
		v.Allowed = v.Allowed && (a.Calls > 0 || len(keys) > 1 && v.Slot-v.Now <= exact.MaxWait(req) && v.Full == 0)
		if again = again || a.NeedsLog(); a.NeedsLog() {
			k.Log = rediskey.Log(k.State)
		}
		if tag > 0 {
			if part := list.Receipt(*k, &a); a.Calls > 0 {
				part.Log = rediskey.Log(k.State)
				if r == nil {
					r = new(receipt)
				}
				r.keys = append(r.keys, part)
			}
		}
	}
	if err := list.End(); err != nil {
		return v, nil, nil, err
	}
	if lost {
		return v, nil, nil, store.ErrLost
	}
	if again {
		return s.ask(ctx, req, keys, mode)
	}
	if mode == script.Look && req.Hold.Asked() && req.NeverFits() < 0 {
		v.Allowed = v.Full == 0 // A lease alone waits for no slot.
	}
	return v, outcomes, r, nil
}

// settle corrects the bookings of a receipt.
func (s *Store) settle(ctx context.Context, r *receipt, cost func(charge int) int64) error {
	_, err := s.run(ctx, &script.Settle, script.SettleArgs(r.keys, s.clock(), cost))
	for i := range r.charges {
		s.denials.Forget(r.charges[i].Scope, r.charges[i].Key)
	}
	return err
}
