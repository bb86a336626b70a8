package storetest_test

import (
	"context"
	"errors"
	"sync"

	"github.com/goweir/weir/store"
)

// waitingMistakes are about slots and cancels.
var waitingMistakes = []mistake{
	{"no units are kept for others", "units kept for others", before(func(req *store.Request) {
		for i := range req.Charges {
			req.Charges[i].Reserve = 0
		}
	})},
	{"MaxWait is ignored", "slots in order", before(func(req *store.Request) {
		if req.MaxWait > 0 {
			req.MaxWait = store.MaxPeriod
		}
	})},
	{"no call may wait", "slots in order", before(func(req *store.Request) { req.MaxWait = 0 })},
	{"a slot for two", "slots at the same time", func(s *model) store.Store {
		var last store.Decision
		again := every(2)
		return instead(func(req store.Request, next func(store.Request) store.Decision) store.Decision {
			if !again() || last.Limit != req.Charges[0].Limit {
				last = next(req)
			}
			return last
		})(s)
	}},
	{"a cancel gives nothing back", "cancel", func(s *model) store.Store {
		return &spoiled{model: s, cancel: func(context.Context, any) error { return nil }}
	}},
	{"anything is a receipt", "cancel", func(s *model) store.Store {
		return &spoiled{model: s, cancel: func(ctx context.Context, receipt any) error {
			_ = s.Cancel(ctx, receipt)
			return nil
		}}
	}},
	{"there is no receipt", "cancel", after(func(_ store.Request, d *store.Decision) { d.Receipt = nil })},
	{"a receipt unasked for", "every decision is sound", after(func(_ store.Request, d *store.Decision) { d.Receipt = 1 })},
	{"a cancel gives back twice", "cancel one of two", func(s *model) store.Store {
		return &spoiled{model: s, cancel: func(ctx context.Context, receipt any) error {
			return errors.Join(s.Cancel(ctx, receipt), s.Cancel(ctx, receipt))
		}}
	}},
	{"a cancel gives everything back", "cancel never exceeds a limit", func(s *model) store.Store {
		var mu sync.Mutex
		of := map[any]store.Charge{}
		return &spoiled{model: s, take: func(ctx context.Context, req store.Request) (store.Decision, error) {
			d, err := s.Take(ctx, req)
			if d.Receipt != nil {
				mu.Lock()
				defer mu.Unlock()
				of[d.Receipt] = req.Charges[0]
			}
			return d, err
		}, cancel: func(ctx context.Context, receipt any) error {
			mu.Lock()
			defer mu.Unlock()
			return s.Reset(ctx, of[receipt].Scope, of[receipt].Key)
		}}
	}},
	{"a receipt keeps the request", "the request is not kept", func(s *model) store.Store {
		return &spoiled{model: s, take: func(ctx context.Context, req store.Request) (store.Decision, error) {
			d, err := s.Take(ctx, req)
			if d.Receipt != nil {
				d.Receipt = req
			}
			return d, err
		}, cancel: func(ctx context.Context, receipt any) error {
			c := receipt.(store.Request).Charges[0]
			return s.Reset(ctx, c.Scope, c.Key)
		}}
	}},
}
