package weir

import (
	"context"
	"net/http"
	"slices"

	"github.com/goweir/weir/internal/httpbody"
	"github.com/goweir/weir/internal/line"
)

// conclude ends the leases of a request with an outcome and settles its real costs:
// now, or when the response's body has ended.
func conclude(req *http.Request, booked []booking, resp *http.Response, err error) {
	counts, open := false, false
	var two [2]<-chan struct{}
	settles := two[:0]
	for i := range booked {
		b := &booked[i]
		switch {
		case b.lease == nil && b.Settle == nil: // as most often
		case err != nil:
			settles = append(settles, b.fail(req.Context(), err))
		default:
			settling, known := b.settleBy(req.Context(), resp, nil)
			settles = append(settles, settling)
			waits := b.Settle != nil && !known
			counts, open = counts || waits, open || waits || b.lease.counts()
		}
	}
	if len(settles) > 0 { // A call of Linger costs 5 % of a request that is not settled.
		line.Linger(settles...)
	}
	if open {
		concludeLater(req.Context(), slices.Clone(booked), resp, counts) // The response may outlive the request.
	}
}

// concludeLater concludes a request when the response's body has ended.
func concludeLater(ctx context.Context, booked []booking, resp *http.Response, counts bool) {
	httpbody.OnEnd(resp, counts, func(end *httpbody.End) {
		release(booked)
		var two [2]<-chan struct{}
		settles := two[:0]
		for i := range booked {
			settling, _ := booked[i].settleBy(ctx, resp, (*BodyEnd)(end))
			settles = append(settles, settling)
		}
		line.Linger(settles...)
	})
}

// release ends the leases of bookings.
func release(booked []booking) {
	for i := range booked {
		booked[i].lease.Release()
	}
}

// fail concludes a request without a response. Without a connection it cost nothing.
func (b *booking) fail(ctx context.Context, err error) (settling <-chan struct{}) {
	b.lease.Release()
	if b.Settle != nil && httpbody.NeverSent(err) {
		return b.settle(ctx, 0)
	}
	return nil
}

// settleBy settles the cost if the response tells it, and the end of its body unless
// that is nil. The first cost that is known counts.
func (b *booking) settleBy(ctx context.Context, resp *http.Response, end *BodyEnd) (settling <-chan struct{}, known bool) {
	if b.Settle == nil || b.settled {
		return nil, b.settled
	}
	cost, known := b.Settle(resp, end)
	if b.settled = known; known {
		settling = b.settle(ctx, cost)
	}
	return settling, known
}

// settle settles the real cost, in the background: see [Limiter.later]. The estimate
// stays booked if that fails, as for a cost that can't be.
func (b *booking) settle(ctx context.Context, cost int64) <-chan struct{} {
	if cost == b.Cost {
		if b.grant.receipt != nil {
			b.Limiter.events.settled(ctx, b.ID, cost)
		}
		return nil
	}
	r := b.Limiter.taken(b.ID, b.grant.receipt)
	return b.Limiter.later(ctx, "settle", b.ID, func(ctx context.Context) { _ = r.Settle(ctx, cost) })
}
