package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/goweir/weir/store"
)

// limitMistakes are about several limits, keys, and changed limits.
var limitMistakes = []mistake{
	{"only the first limit counts", "several limits", before(func(req *store.Request) { req.Charges = req.Charges[:1] })},
	{"limits are charged one by one", "several limits", instead(oneByOne)},
	{"keys are charged one by one", "several keys", instead(oneByOne)},
	{"keys at the same time are charged one by one", "several keys at the same time", taking(func(s *model) take {
		return func(ctx context.Context, req store.Request) (d store.Decision, err error) {
			return oneByOne(req, func(req store.Request) (d store.Decision) {
				d, err = s.Take(ctx, req)
				return d
			}), err
		}
	})},
	{"the first limit is the binding one", "the binding limit", after(func(req store.Request, d *store.Decision) {
		c := d.Charge(0)
		d.Limit, d.Remaining, d.ResetAfter = req.Charges[0].Limit, c.Remaining, c.ResetAfter
	})},
	{"the fewest units bind, not the smallest share", "every decision is sound", after(func(req store.Request, d *store.Decision) {
		for i := range d.Charges {
			if c := d.Charges[i]; d.Allowed && c.Remaining < d.Remaining {
				d.Limit, d.Remaining, d.ResetAfter = req.Charges[i].Limit, c.Remaining, c.ResetAfter
			}
		}
	})},
	{"the first scope is named, whichever binds", "levels", after(func(req store.Request, d *store.Decision) { d.Scope = req.Charges[0].Scope })},
	{"the first scope is named when none is paused", "levels that are slowed down", after(func(req store.Request, d *store.Decision) {
		if d.Reason == store.ReasonPaused {
			d.Scope = req.Charges[0].Scope
		}
	})},
	{"no scope is named", "levels", after(func(_ store.Request, d *store.Decision) { d.Scope = "" })},
	{"levels are taken until one refuses", "levels", instead(oneByOne)},
	{"only the refusing level has a RetryAfter", "levels, waiting exactly RetryAfter", instead(firstRefusal)},
	{"limits are reported in another order", "the binding limit", after(func(_ store.Request, d *store.Decision) { slices.Reverse(d.Charges) })},
	{"a renamed limit is another", "the binding limit", before(func(req *store.Request) {
		for i := range req.Charges {
			req.Charges[i].Key += "/" + req.Charges[i].Limit.Name
		}
	})},
	{"other limits are another key", "changed limits", before(func(req *store.Request) {
		for i := range req.Charges {
			req.Charges[i].Key += req.Charges[i].Limit.Policy()
		}
	})},
	{"changed limits are ignored", "changed limits", func(s *model) store.Store {
		known := map[string][]store.Charge{}
		return instead(func(req store.Request, next func(store.Request) store.Decision) store.Decision {
			was, ok := known[req.Charges[0].Key]
			if !ok || len(was) != len(req.Charges) {
				known[req.Charges[0].Key] = slices.Clone(req.Charges)
				return next(req)
			}
			req.Charges = slices.Clone(req.Charges)
			for i := range req.Charges {
				req.Charges[i].Limit = was[i].Limit
			}
			return next(req)
		})(s)
	}},
	{"changed limits forget bookings", "changed limits with slots booked ahead", func(s *model) store.Store {
		last := map[string]store.Limit{}
		return instead(func(req store.Request, next func(store.Request) store.Decision) store.Decision {
			c := req.Charges[0]
			if l, ok := last[c.Key]; ok && l != c.Limit && !req.Peek() {
				_ = s.Reset(context.Background(), c.Scope, c.Key)
			}
			last[c.Key] = c.Limit
			return next(req)
		})(s)
	}},
	{"a limit that is left out is not charged", "limits left out of a call", before(func(req *store.Request) {
		for i := range req.Charges {
			req.Charges[i].Key += req.Charges[i].Limit.Policy()
		}
	})},
	{"releases have keys of their own", "two releases at a time", before(func(req *store.Request) {
		for i := range req.Charges {
			req.Charges[i].Key += fmt.Sprint(req.Charges[0].Limit)
		}
	})},
	{"a refusal forgets the used share", "changed limits", func(s *model) store.Store {
		return instead(func(req store.Request, next func(store.Request) store.Decision) store.Decision {
			look := req
			look.Charges = slices.Clone(req.Charges)
			for i := range look.Charges {
				look.Charges[i].Cost = 0
			}
			if d := next(look); d.Remaining < req.Charges[0].Cost && req.MaxWait == 0 && !req.Peek() {
				d.Allowed, d.Reason, d.RetryAfter = false, store.ReasonLimited, 10*time.Millisecond
				return d
			}
			return next(req)
		})(s)
	}},
	{"a reset does nothing", "reset", func(s *model) store.Store {
		return &spoiled{model: s, reset: func(context.Context, string, string) error { return nil }}
	}},
	{"an unknown key can't be reset", "reset", func(s *model) store.Store {
		return &spoiled{model: s, reset: func(ctx context.Context, scope, key string) error {
			if key[0] == 'u' {
				return errors.New("unknown key")
			}
			return s.Reset(ctx, scope, key)
		}}
	}},
}

// oneByOne takes charges one after another until one is refused.
func oneByOne(req store.Request, next func(store.Request) store.Decision) store.Decision {
	var all []store.ChargeState
	var last store.Decision
	for i := range req.Charges {
		single := req
		single.Charges = req.Charges[i : i+1]
		if i == 0 || last.Allowed {
			last = next(single)
		}
		all = append(all, store.ChargeState{Remaining: last.Remaining, ResetAfter: last.ResetAfter, RetryAfter: last.RetryAfter})
	}
	if len(all) > 1 {
		last.Charges = all
	}
	return last
}

// firstRefusal reports only the first level that refuses, as if the wider levels had not been
// asked.
func firstRefusal(req store.Request, next func(store.Request) store.Decision) store.Decision {
	d := next(req)
	for i, c := range d.Charges {
		if d.Reason == store.ReasonLimited && c.RetryAfter > 0 {
			d.Scope, d.Limit, d.RetryAfter = req.Charges[i].Scope, req.Charges[i].Limit, c.RetryAfter
			d.Remaining, d.ResetAfter = c.Remaining, c.ResetAfter
			for j := range d.Charges[i+1:] {
				d.Charges[i+1+j].RetryAfter = 0
			}
			break
		}
	}
	return d
}
