package weir

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"

	"github.com/goweir/weir/internal/httpbody"
)

// conclude ends the leases of a request with an outcome and settles its real costs:
// now, or when the response's body has ended.
func conclude(req *http.Request, booked []booking, resp *http.Response, err error) {
	counts, open := false, false
	for i := range booked {
		b := &booked[i]
		switch {
		case b.lease == nil && b.Settle == nil: // as most often
		case err != nil:
			b.fail(req.Context(), err)
		default:
			waits := b.Settle != nil && !b.settleNow(req.Context(), resp)
			counts, open = counts || waits, open || waits || b.lease.counts()
		}
	}
	if open {
		concludeLater(req.Context(), slices.Clone(booked), resp, counts) // The response may outlive the request.
	}
}

// concludeLater concludes a request when the response's body has ended.
func concludeLater(ctx context.Context, booked []booking, resp *http.Response, counts bool) {
	httpbody.OnEnd(resp, counts, func(end *httpbody.End) {
		release(booked)
		for i := range booked {
			booked[i].settleAt(ctx, resp, (*BodyEnd)(end))
		}
	})
}

// release ends the leases of bookings.
func release(booked []booking) {
	for i := range booked {
		booked[i].lease.Release()
	}
}

// fail concludes a request without a response. Without a connection it cost nothing.
func (b *booking) fail(ctx context.Context, err error) {
	b.lease.Release()
	if b.Settle != nil && neverSent(err) {
		b.settle(ctx, 0)
	}
}

// neverSent reports whether a request failed before it had a connection: to the
// upstream, to a proxy, or from a SOCKS proxy to the upstream. An HTTP proxy that
// can't reach the upstream answers, with an error that looks like others.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect" || op.Op == "socks connect")
}

// settleNow settles the cost if the response tells it without its body.
func (b *booking) settleNow(ctx context.Context, resp *http.Response) (known bool) {
	cost, known := b.Settle(resp, nil)
	if known {
		b.settled = true
		b.settle(ctx, cost)
	}
	return known
}

// settleAt settles the cost if the end of the body tells it.
func (b *booking) settleAt(ctx context.Context, resp *http.Response, end *BodyEnd) {
	if b.Settle == nil || b.settled {
		return
	}
	if cost, known := b.Settle(resp, end); known {
		b.settle(ctx, cost)
	}
}

// settle settles the real cost. The hook sees a failure; the estimate stays booked
// then, as for a cost that can't be.
func (b *booking) settle(ctx context.Context, cost int64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), concludeTimeout)
	defer cancel()
	_ = b.Limiter.taken(b.ID, b.grant.receipt).Settle(ctx, cost)
}
