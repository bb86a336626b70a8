package storetest_test

import (
	"context"
	"sync"

	"github.com/goweir/weir/store"
)

// settlingMistakes are about settled costs.
var settlingMistakes = []mistake{
	{"nothing is settled", "settle", settling(func(*booked, any, []int64) error { return nil })},
	{"settling cancels", "settle", settling(func(b *booked, receipt any, _ []int64) error {
		return b.Cancel(context.Background(), receipt)
	})},
	{"debt is forgiven", "settle", settling(func(b *booked, receipt any, costs []int64) error {
		for i := range costs {
			costs[i] = min(costs[i], b.of(receipt).Charges[0].Cost)
		}
		return b.Settle(context.Background(), receipt, costs...)
	})},
	{"a settled booking is booked now", "settle without later bookings", settling(settleNow)},
	{"a slot ahead is settled now", "settle a slot ahead", settling(settleNow)},
	{"a reset forgets no booking", "settle too late", func(s *model) store.Store {
		b := &booked{model: s, requests: map[any]store.Request{}}
		return &spoiled{model: s, take: b.take, reset: func(ctx context.Context, _, _ string) error {
			for receipt := range b.requests {
				if err := s.Cancel(ctx, receipt); err != nil {
					return err
				}
			}
			return nil
		}}
	}},
	{"any cost is settled", "settle with mistakes", settling(func(b *booked, receipt any, costs []int64) error {
		err := b.Settle(context.Background(), receipt, costs...)
		if b.of(receipt).Charges != nil {
			return nil
		}
		return err
	})},
	{"any receipt is settled", "settle with mistakes", settling(func(b *booked, receipt any, costs []int64) error {
		if b.of(receipt).Charges == nil {
			return nil
		}
		return b.Settle(context.Background(), receipt, costs...)
	})},
	{"the most is too much to settle", "settle the most", settling(func(b *booked, receipt any, costs []int64) error {
		if costs[0] == store.MaxUnits {
			return nil
		}
		return b.Settle(context.Background(), receipt, costs...)
	})},
	{"settled units are given back twice", "settle at the same time", settling(func(b *booked, receipt any, costs []int64) error {
		if err := b.Settle(context.Background(), receipt, costs...); err != nil {
			return err
		}
		return b.Settle(context.Background(), receipt, costs...)
	})},
	{"one cost is for all limits", "settle several limits", settling(func(b *booked, receipt any, costs []int64) error {
		return b.Settle(context.Background(), receipt, costs[0])
	})},
	{"a unit is kept", "settle", settling(func(b *booked, receipt any, costs []int64) error {
		return b.Settle(context.Background(), receipt, costs[0]+1)
	})},
	{"settling resets", "settle never exceeds a limit", settling(func(b *booked, receipt any, costs []int64) error {
		c := b.of(receipt).Charges[0]
		if costs[0] >= c.Cost {
			return b.Settle(context.Background(), receipt, costs...)
		}
		return b.Reset(context.Background(), c.Scope, c.Key)
	})},
}

// booked is a store that keeps the request of each receipt.
type booked struct {
	*model
	mu       sync.Mutex
	requests map[any]store.Request
}

func (b *booked) take(ctx context.Context, req store.Request) (store.Decision, error) {
	d, err := b.model.Take(ctx, req)
	if d.Receipt != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.requests[d.Receipt] = req
	}
	return d, err
}

func (b *booked) of(receipt any) store.Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.requests[receipt]
}

// settling replaces Settle.
func settling(f func(b *booked, receipt any, costs []int64) error) func(*model) store.Store {
	return func(s *model) store.Store {
		b := &booked{model: s, requests: map[any]store.Request{}}
		return &spoiled{model: s, take: b.take, settle: func(_ context.Context, receipt any, costs ...int64) error {
			return f(b, receipt, costs)
		}}
	}
}

// settleNow gives the booking back and books the real cost, if that fits.
func settleNow(b *booked, receipt any, costs []int64) error {
	ctx := context.Background()
	if err := b.Cancel(ctx, receipt); err != nil {
		return err
	}
	req := b.of(receipt)
	for i := range req.Charges {
		req.Charges[i].Cost = costs[0]
	}
	_, err := b.Take(ctx, req)
	return err
}
