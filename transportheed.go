package weir

import (
	"context"
	"hash/maphash"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/internal/heed"
	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/upstream"
)

// listener slows keys down as responses say, for all processes that share the store.
type listener struct {
	reader   *upstream.Reader
	ignore   bool
	underWay atomic.Int64 // requests that were sent and not answered
	looked   lookedAt
	pauses   pauses
}

// heed slows a key down as the response to a booked request says. It makes no call of
// the store when the response says nothing new.
func (t *listener) heed(req *http.Request, booked []booking, resp *http.Response) {
	if t.ignore || len(booked) == 0 {
		return
	}
	said := t.answerTo(req, resp)
	if !t.reader.Speaks(said) {
		return
	}
	signal := t.reader.Read(said, time.Time{})
	var two [2]heed.Booking
	bookings := two[:0]
	for i := range booked {
		bookings = append(bookings, booked[i].heard())
	}
	view := heed.Compare(&signal, bookings, t.underWay.Load())
	brake, news := view.Brake()
	if !news {
		return
	}
	b := &booked[view.Target]
	ctx, cancel := context.WithTimeout(context.WithoutCancel(req.Context()), concludeTimeout)
	defer cancel()
	if view.Doubtful() && !t.looked.settles(ctx, b, &view) {
		return
	}
	longest := b.heeds.MaxPause
	view.Again = signal.Refused && brake.Pause > 0 && t.pauses.again(b, min(brake.Pause, longest))
	if brake, news = view.Brake(); news {
		brake.Pause = min(brake.Pause, longest)
		brake.Slack = min(brake.Slack, longest-brake.Pause)
		brake.Gap, brake.GapFor = min(brake.Gap, longest), min(brake.GapFor, longest)
		_ = b.Limiter.brake(ctx, b.Key, brake) // The hook sees the error.
	}
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

// lookedAt is the last look at a key. Requests with the same doubt share it.
type lookedAt struct {
	mu        sync.Mutex // held during the look; no request waits for it
	level     *transportLevel
	key       string
	at        store.Instant
	remaining int64
}

// settles lowers view's Remaining to the present one. It reports false while another
// request looks: that one settles the doubt. A store that fails leaves it as it is.
func (l *lookedAt) settles(ctx context.Context, b *booking, view *heed.View) bool {
	if !l.mu.TryLock() {
		return false
	}
	defer l.mu.Unlock()
	if l.level == b.transportLevel && l.key == b.Key && b.grant.at > 0 && l.at >= b.grant.at {
		before := view.Remaining
		if view.Remaining = min(before, l.remaining); !view.Doubtful() {
			return true
		}
		view.Remaining = before
	}
	d, err := b.Limiter.look(ctx, line.ID{Key: b.Key})
	if err == nil {
		l.level, l.key, l.at, l.remaining = b.transportLevel, b.Key, d.At, d.Remaining
		view.Remaining = min(view.Remaining, d.Remaining)
	}
	return true
}

// pauses are the last pauses that upstreams asked for, one for each shard of keys.
type pauses [32]struct {
	mu     sync.Mutex
	level  *transportLevel
	key    string
	end    time.Time
	lasted time.Duration
}

var pausesSeed = maphash.MakeSeed()

// again records a pause of the booking's key. It reports whether the upstream refuses
// again soon after a pause: within that pause's length. Its bucket is slower than our
// limit then, and pauses alone would have it refuse requests without end.
func (p *pauses) again(b *booking, pause time.Duration) bool {
	e := &p[maphash.String(pausesSeed, b.Key)%uint64(len(p))]
	e.mu.Lock()
	defer e.mu.Unlock()
	now, same := time.Now(), e.level == b.transportLevel && e.key == b.Key
	since := now.Sub(e.end)
	again := same && since >= 0 && since <= e.lasted
	if end := now.Add(pause); !same || end.After(e.end) {
		e.level, e.key, e.end, e.lasted = b.transportLevel, b.Key, end, pause
	}
	return again
}
