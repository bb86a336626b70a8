package redisstore

import (
	"context"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/script"
)

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
		tag = int64(s.tags.Add(1)&(1<<32-1)) + 1 // It tells a key's state from one after a Reset.
	}
	args := script.TakeArgs(req, keys, s.clock(), tag, mode)
	var reply any
	if len(req.Restore) > 0 {
		reply, err = s.restoreAnd(ctx, req.Restore, args)
	} else {
		reply, err = s.runScript(ctx, &script.Take, args)
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
		a := list.Answer(k.Limits, 1, room[:0], v.Now)
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
