package storetest_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/goweir/weir/store"
)

// decisionMistakes are about single decisions.
var decisionMistakes = []mistake{
	{"allows everything", "concurrent calls", after(func(_ store.Request, d *store.Decision) {
		d.Allowed, d.Reason, d.RetryAfter = true, store.ReasonAllowed, 0
	})},
	{"allows nothing", "refusals change nothing", after(func(_ store.Request, d *store.Decision) {
		if d.Allowed {
			*d = store.Decision{Reason: store.ReasonLimited, RetryAfter: time.Second, Limit: d.Limit}
		}
	})},
	{"reads, decides, then writes", "concurrent calls", taking(func(s *model) take {
		return func(ctx context.Context, req store.Request) (store.Decision, error) {
			look := req
			look.Charges = slices.Clone(req.Charges)
			for i := range look.Charges {
				look.Charges[i].Cost = 0
			}
			seen, err := s.Take(ctx, look)
			if err != nil || seen.Remaining < req.Charges[0].Cost {
				return s.Take(ctx, req)
			}
			time.Sleep(time.Nanosecond) // Other calls read meanwhile.
			d, err := s.Take(ctx, req)
			d.Allowed, d.Reason, d.RetryAfter = true, store.ReasonAllowed, 0
			return d, err
		}
	})},
	{"loses a unit now and then", "concurrent calls", func(s *model) store.Store {
		lose := every(50)
		return instead(func(req store.Request, next func(store.Request) store.Decision) store.Decision {
			if lose() {
				next(req)
			}
			return next(req)
		})(s)
	}},
	{"charges refused calls", "refusals change nothing", instead(func(req store.Request, next func(store.Request) store.Decision) store.Decision {
		d := next(req)
		if d.Reason == store.ReasonLimited {
			req.MaxWait = time.Hour
			next(req)
		}
		return d
	})},
	{"starts a window anew when it refuses", "refusals change nothing", func(s *model) store.Store {
		return instead(func(req store.Request, next func(store.Request) store.Decision) store.Decision {
			d := next(req)
			if d.Reason == store.ReasonLimited && d.Limit.Algorithm == store.FixedWindow {
				_ = s.Reset(context.Background(), req.Charges[0].Scope, req.Charges[0].Key)
				full := req
				full.Charges = slices.Clone(req.Charges)
				full.Charges[0].Cost = d.Limit.Rate - d.Remaining
				next(full)
			}
			return d
		})(s)
	}},
	{"takes when it only looks", "looks change nothing", instead(func(req store.Request, next func(store.Request) store.Decision) store.Decision {
		d := next(req)
		if req.Peek() {
			req.Charges = []store.Charge{req.Charges[0]}
			req.Charges[0].Cost = 1
			next(req)
		}
		return d
	})},
	{"refuses a look", "looks change nothing", after(func(req store.Request, d *store.Decision) {
		if req.Peek() && d.Remaining == 0 {
			d.Allowed, d.Reason, d.RetryAfter = false, store.ReasonLimited, d.ResetAfter
		}
	})},
	{"forgets when it looks under other limits", "looks change nothing", func(s *model) store.Store {
		last := map[string]store.Limit{}
		return instead(func(req store.Request, next func(store.Request) store.Decision) store.Decision {
			c := req.Charges[0]
			if l, ok := last[c.Key]; ok && l != c.Limit && req.Peek() {
				_ = s.Reset(context.Background(), c.Scope, c.Key)
			}
			last[c.Key] = c.Limit
			return next(req)
		})(s)
	}},
	{"a cost that never fits is merely refused", "a cost that never fits", after(func(_ store.Request, d *store.Decision) {
		if d.Reason == store.ReasonNeverFits {
			d.Reason, d.RetryAfter = store.ReasonLimited, time.Hour
		}
	})},
	{"a mistake is a refusal", "mistakes", taking(func(s *model) take {
		return func(ctx context.Context, req store.Request) (store.Decision, error) {
			d, err := s.Take(ctx, req)
			if errors.Is(err, store.ErrConfig) {
				return store.Decision{Reason: store.ReasonLimited}, nil
			}
			return d, err
		}
	})},
	{"takes after the context's end", "mistakes", taking(func(s *model) take {
		return func(_ context.Context, req store.Request) (store.Decision, error) {
			return s.Take(context.Background(), req)
		}
	})},
	{"scope and key are joined", "keys", before(func(req *store.Request) {
		for i := range req.Charges {
			c := &req.Charges[i]
			c.Scope, c.Key = "", c.Scope+":"+c.Key
		}
	})},
	{"keys are cut off", "keys", before(func(req *store.Request) {
		for i := range req.Charges {
			c := &req.Charges[i]
			c.Key = c.Key[:min(len(c.Key), 100)]
		}
	})},
	{"scopes are one", "keys", before(func(req *store.Request) {
		for i := range req.Charges {
			req.Charges[i].Scope = ""
		}
	})},
}
