package weir

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/goweir/weir/internal/heed"
	"github.com/goweir/weir/internal/httpbody"
	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/upstream"
)

// listener slows keys down as responses say, for all processes that share the store.
type listener struct {
	reader *upstream.Reader
	ignore bool
}

// count adds n to the requests under way of all keys that a request counts against.
func (t *listener) count(booked []booking, n int64) {
	if t.ignore {
		return
	}
	for i := range booked {
		booked[i].shard.Count(booked[i].Key, n)
	}
}

// heed slows a key down as the response to a booked request says. It makes no call of
// the store when the response says nothing new, and does not wait long for one.
func (t *listener) heed(req *http.Request, booked []booking, resp *http.Response) {
	if t.ignore || len(booked) == 0 {
		return
	}
	said := resp
	if resp.Request == nil && len(t.reader.Dialects) > 0 { // A dialect reads the request's host.
		named := *resp
		named.Request, said = req, &named
	}
	if !t.reader.Speaks(said) {
		return
	}
	signal, budgets := t.reader.ReadAll(said, time.Time{})
	resp.Body = said.Body // The reader may have read ahead.
	var two [2]heed.Booking
	bookings := two[:0]
	for i := range booked {
		b := &booked[i]
		bookings = append(bookings, heed.Booking{Level: &b.heeds, At: b.grant.at, Remaining: b.grant.remaining, Charges: b.grant.charges, Gap: b.grant.gap})
	}
	view := heed.Compare(&signal, budgets, bookings)
	if at := &booked[view.Target]; signal.Refused {
		at.Limiter.events.show(req.Context(), line.ID{Key: at.Key}, &Event{Kind: EventRefusal, Status: resp.StatusCode, Pause: signal.Pause})
	}
	for i := range budgets {
		booked[0].Limiter.events.show(req.Context(), line.ID{Key: booked[0].Key}, &Event{Kind: EventBudget, Budget: &budgets[i]})
	}
	slowing := append(make([]<-chan struct{}, 0, 2), slow(req.Context(), booked, &view))
	if len(budgets) > 1 || signal.Refused {
		for other := range view.Others(budgets, bookings, cmp.Or(t.reader.MaxPause, upstream.MaxPause)) {
			slowing = append(slowing, slow(req.Context(), booked, &other))
		}
	}
	line.Linger(slowing...)
}

// slow brakes the target of a view, if that says anything new.
func slow(ctx context.Context, booked []booking, view *heed.View) <-chan struct{} {
	b := &booked[view.Target]
	view.UnderWay = b.shard.Counted(b.Key)
	if _, news := view.Brake(); news {
		return b.brakeLater(ctx, *view)
	}
	return nil
}

// brakeLater brakes the booking's key, in the background: see [laters].
func (b *booking) brakeLater(ctx context.Context, view heed.View) <-chan struct{} {
	level, shard, id, granted := b.transportLevel, b.shard, b.ID, b.grant.at
	return level.Limiter.laters.later(ctx, "brake", id, func(ctx context.Context) {
		look := func() (store.Decision, error) { return level.Limiter.look(ctx, line.ID{Key: id.Key}, 0) }
		if view.Doubtful() && !shard.Clears(id.Key, granted, &view, look) {
			return
		}
		if brake, news := shard.Brake(id.Key, view); news {
			_ = level.Limiter.brake(ctx, id.Key, brake, byUpstream) // The hook sees the error.
		}
	})
}

// conclude ends the leases of a request with an outcome and settles its real costs:
// now, or when the response's body has ended.
func conclude(req *http.Request, booked []booking, resp *http.Response, err error) {
	if err != nil {
		release(booked)
		if httpbody.NeverSent(err) { // Without a connection it cost nothing.
			settle(req.Context(), booked, func(SettleFunc) (int64, bool) { return 0, true })
		}
		return
	}
	counts := settle(req.Context(), booked, func(cost SettleFunc) (int64, bool) { return cost(resp, nil) })
	held := slices.ContainsFunc(booked, func(b booking) bool { return b.grant.lease.Held() })
	if counts || held {
		concludeLater(req.Context(), slices.Clone(booked), resp, counts) // The response may outlive the request.
	}
}

// concludeLater concludes a request when the response's body has ended. Its leases end a
// second after its context too, which is time to close the body: net/http has cut it off.
func concludeLater(ctx context.Context, booked []booking, resp *http.Response, counts bool) {
	if resp.StatusCode == http.StatusSwitchingProtocols { // The connection outlives the context.
		ctx = context.WithoutCancel(ctx)
	}
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, func() { release(booked) }) })
	httpbody.OnEnd(resp, counts, func(end *httpbody.End) {
		stop()
		release(booked)
		settle(ctx, booked, func(cost SettleFunc) (int64, bool) { return cost(resp, (*BodyEnd)(end)) })
	})
}

// release ends the leases of bookings.
func release(booked []booking) {
	for i := range booked {
		booked[i].grant.lease.Release()
	}
}

// settle settles the costs that costOf knows, and reports whether it does not know one yet.
// The first known cost counts.
func settle(ctx context.Context, booked []booking, costOf func(SettleFunc) (cost int64, known bool)) (unknown bool) {
	var two [2]<-chan struct{}
	settles := two[:0]
	for i := range booked {
		b := &booked[i]
		if b.Settle == nil || b.settled {
			continue
		}
		cost, known := costOf(b.Settle)
		if b.settled = known; known {
			settles = append(settles, b.settle(ctx, cost))
		}
		unknown = unknown || !known
	}
	if len(settles) > 0 { // A call of Linger costs 5 % of a request that is not settled.
		line.Linger(settles...)
	}
	return unknown
}

// settle settles the real cost, in the background: see [laters]. The estimate
// stays booked if that fails, as for a cost that can't be.
func (b *booking) settle(ctx context.Context, cost int64) <-chan struct{} {
	if cost == b.Cost {
		if b.grant.receipt != nil {
			b.Limiter.events.show(ctx, b.ID, &Event{Kind: EventSettled, Actual: cost})
		}
		return nil
	}
	r := b.Limiter.taken(b.ID, b.grant.receipt)
	return b.Limiter.laters.later(ctx, "settle", b.ID, func(ctx context.Context) { _ = r.Settle(ctx, cost) })
}
