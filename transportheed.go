package weir

import (
	"context"
	"net/http"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/upstream"
)

const (
	// heedTimeout bounds the call that tells the store what a response said.
	heedTimeout = time.Second
	// leastRecovery is the least time in which a rate that was cut is whole
	// again; where a hundred units take longer, it is that long.
	leastRecovery = 30 * time.Second
	// pauseSlack is the part of a pause that is its Slack, and mostSlack the most of
	// that: requests that are refused together are each told to come back a little
	// later than the one before.
	pauseSlack = 16
	mostSlack  = 50 * time.Millisecond
)

// heed slows the key of an attempt down as its response says, for everybody who
// shares the store, and returns for how long the key is paused, and whether the
// store sees to that. It makes no call of the store when the response says
// nothing new, so none at all as long as all is well, but a look when a request
// may have been overtaken by many.
func (t *Transport) heed(req *http.Request, a *admission, resp *http.Response) (pause time.Duration, seenTo bool) {
	if t.ignore && t.retry.times == 0 {
		return 0, false
	}
	said := t.answerTo(req, resp)
	if !t.upstream.Speaks(said) {
		a.admitted()
		return 0, false
	}
	signal := t.upstream.Read(said, time.Time{})
	if t.ignore || !a.counted {
		return signal.Pause, false
	}
	if !signal.Refused {
		a.admitted()
	}
	b := a.meant(&signal)
	l, c, underWay := b.limiter, a.compare(&signal, b), t.underWay.Load()
	if _, news := l.answer(&signal, &c, &b.grant, underWay); !news {
		return signal.Pause, false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(req.Context()), heedTimeout)
	defer cancel()
	l.resolve(ctx, b, &c, &signal, underWay)
	brake, news := l.answer(&signal, &c, &b.grant, underWay)
	if !news {
		return signal.Pause, false
	}
	if brake.Pause > 0 && signal.Refused && l.herds.refuse(b.key, a.left, signal.Pause) {
		brake.Cut = l.cut(b.grant.at, signal.Pause)
	}
	err := l.brake(ctx, b.key, brake)
	// A call that takes nothing does not wait for a pause, nor anybody for what is
	// beyond the longest.
	return signal.Pause, err == nil && signal.Pause > 0 && signal.Pause <= l.maxPause && b.cost > 0
}

// answerTo returns a response that names its request, for the dialect of its host:
// itself, or a copy where the base has left the request out.
func (t *Transport) answerTo(req *http.Request, resp *http.Response) *http.Response {
	if resp.Request != nil || len(t.upstream.Dialects) == 0 {
		return resp
	}
	named := *resp
	named.Request = req
	return &named
}

// admitted counts a request that the upstream did not refuse.
func (a *admission) admitted() {
	if a.counted {
		a.first.limiter.herds.admit(a.first.key, a.left)
	}
}

// answer returns what a signal that came in answer to a granted slot calls for.
// underWay is how many other requests the upstream may have counted meanwhile.
func (l *Limiter) answer(s *upstream.Signal, c *comparison, g *grant, underWay int64) (b store.Brake, news bool) {
	switch {
	case s.Pause > 0 && !s.Refused && c.knows(s, g, underWay):
	case s.Pause > 0:
		b.Pause, b.Slack, news = s.Pause, slackOf(s.Pause), true
	case s.Refused:
		b.Cut, news = l.cut(g.at, mostUnit), true
	}
	gap, lasts := c.gap(s, g, underWay), l.maxPause
	if c.lowered == 0 {
		lasts = s.Reset
	}
	switch {
	case gap > 0 && (g.told == 0 || gap > g.told+g.told/4 || gap < g.told-g.told/4):
		b.Tell, b.Gap, b.GapFor, news = true, gap, lasts, true
	case gap == 0 && g.told > 0 && s.Limit > 0 && !c.apart:
		b.Tell, news = true, true
	}
	return b, news
}

// slackOf returns the most by which a pause that an upstream asked for is made
// longer.
func slackOf(pause time.Duration) time.Duration { return min(pause/pauseSlack, mostSlack) }

// mostUnit is the longest time between two units that a Cut can have.
const mostUnit = store.MaxPeriod / 4

// cut halves the rate of the fastest limit: that of a slow one, which has much
// left, is far from what goes on. When that was not enough, it is cut again. A
// slower rate than one in unit is not what is cut.
func (l *Limiter) cut(since store.Instant, unit time.Duration) store.Cut {
	for i := range l.limits {
		unit = min(unit, l.limits[i].Period/time.Duration(l.limits[i].Rate))
	}
	c := store.Cut{Unit: max(unit, time.Microsecond), Since: since, Recovery: l.maxPause}
	if c.Unit < c.Recovery/100 {
		c.Recovery = min(max(100*c.Unit, leastRecovery), c.Recovery)
	}
	return c
}
