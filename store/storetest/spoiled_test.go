package storetest_test

import (
	"context"
	"sync"

	"github.com/goweir/weir/store"
)

type (
	take   = func(ctx context.Context, req store.Request) (store.Decision, error)
	cancel = func(ctx context.Context, receipt any) error
	settle = func(ctx context.Context, receipt any, costs ...int64) error
	reset  = func(ctx context.Context, scope, key string) error
)

// spoiled is a store with some methods replaced.
type spoiled struct {
	*model
	take   take
	cancel cancel
	settle settle
	reset  reset
}

func (s *spoiled) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if s.take == nil {
		return s.model.Take(ctx, req)
	}
	return s.take(ctx, req)
}

func (s *spoiled) Cancel(ctx context.Context, receipt any) error {
	if s.cancel == nil {
		return s.model.Cancel(ctx, receipt)
	}
	return s.cancel(ctx, receipt)
}

func (s *spoiled) Settle(ctx context.Context, receipt any, costs ...int64) error {
	if s.settle == nil {
		return s.model.Settle(ctx, receipt, costs...)
	}
	return s.settle(ctx, receipt, costs...)
}

func (s *spoiled) Reset(ctx context.Context, scope, key string) error {
	if s.reset == nil {
		return s.model.Reset(ctx, scope, key)
	}
	return s.reset(ctx, scope, key)
}

// taking replaces Take. spoil is called once for each store.
func taking(spoil func(s *model) take) func(*model) store.Store {
	return func(s *model) store.Store { return &spoiled{model: s, take: spoil(s)} }
}

// after changes each decision.
func after(change func(req store.Request, d *store.Decision)) func(*model) store.Store {
	return taking(func(s *model) take {
		return func(ctx context.Context, req store.Request) (store.Decision, error) {
			d, err := s.Take(ctx, req)
			if err == nil {
				change(req, &d)
			}
			return d, err
		}
	})
}

// before changes a copy of each valid request.
func before(change func(req *store.Request)) func(*model) store.Store {
	return taking(func(s *model) take {
		return func(ctx context.Context, req store.Request) (store.Decision, error) {
			if req.Validate() == nil {
				req.Charges = append([]store.Charge(nil), req.Charges...)
				change(&req)
			}
			return s.Take(ctx, req)
		}
	})
}

// instead decides in place of the store, one call at a time. It may call next any number of
// times.
func instead(decide func(req store.Request, next func(store.Request) store.Decision) store.Decision) func(*model) store.Store {
	return taking(func(s *model) take {
		var mu sync.Mutex
		return func(ctx context.Context, req store.Request) (store.Decision, error) {
			mu.Lock()
			defer mu.Unlock()
			if err := req.Validate(); err != nil || ctx.Err() != nil {
				return s.Take(ctx, req)
			}
			var failed error
			d := decide(req, func(req store.Request) store.Decision {
				d, err := s.Take(ctx, req)
				if err != nil {
					failed = err
				}
				return d
			})
			return d, failed
		}
	})
}

// every reports true at each n-th call.
func every(n int) func() bool {
	calls := 0
	return func() bool { calls++; return calls%n == 0 }
}
