package weir

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/goweir/weir/internal/heed"
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
	said := t.answerTo(req, resp)
	if !t.reader.Speaks(said) {
		return
	}
	t.reader.Peek(resp)
	said.Body = resp.Body
	signal, budgets := t.reader.ReadAll(said, time.Time{})
	var two [2]heed.Booking
	bookings := two[:0]
	for i := range booked {
		bookings = append(bookings, booked[i].heard())
	}
	view := heed.Compare(&signal, budgets, bookings)
	if at := &booked[view.Target]; signal.Refused {
		at.Limiter.events.refused(req.Context(), at.ID, resp.StatusCode, signal.Pause)
	}
	booked[0].Limiter.events.budgets(req.Context(), booked[0].ID, budgets)
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
		return b.slowDown(ctx, *view)
	}
	return nil
}

// slowDown brakes the booking's key, in the background: see [Limiter.later].
func (b *booking) slowDown(ctx context.Context, view heed.View) <-chan struct{} {
	level, shard, id, granted := b.transportLevel, b.shard, b.ID, b.grant.at
	return level.Limiter.later(ctx, "brake", id, func(ctx context.Context) {
		look := func() (store.Decision, error) { return level.Limiter.look(ctx, line.ID{Key: id.Key}) }
		if view.Doubtful() && !shard.Settles(id.Key, granted, &view, look) {
			return
		}
		brake, _ := view.Brake()
		longest := level.heeds.MaxPause
		view.Again = view.Refused() && brake.Pause > 0 && shard.Again(id.Key, min(brake.Pause, longest))
		if brake, news := view.Brake(); news {
			brake.Pause = min(brake.Pause, longest)
			brake.Slack = min(brake.Slack, longest-brake.Pause)
			brake.Gap, brake.GapFor = min(brake.Gap, longest), min(brake.GapFor, longest)
			_ = level.Limiter.brake(ctx, id.Key, brake, ByUpstream) // The hook sees the error.
		}
	})
}

// answerTo returns a response that names its request, for the dialect of its host:
// itself, or a copy where the base has left the request out.
func (t *listener) answerTo(req *http.Request, resp *http.Response) *http.Response {
	if resp.Request != nil || len(t.reader.Dialects) == 0 {
		return resp
	}
	named := *resp
	named.Request = req
	return &named
}
