package weir

import (
	"context"
	"net/http"
	"time"

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
func (t *Transport) heed(req *http.Request, b *booking, resp *http.Response) (pause time.Duration, seenTo bool) {
	if t.ignore && t.retry.times == 0 || !t.upstream.Speaks(resp) {
		return 0, false
	}
	signal := t.upstream.Read(resp, time.Time{})
	l := b.limiter
	if t.ignore || l == nil { // No limit counts it.
		return signal.Pause, false
	}
	underWay := t.underWay.Load()
	if _, news := l.answer(&signal, &b.grant, underWay); !news {
		return signal.Pause, false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(req.Context()), heedTimeout)
	defer cancel()
	l.resolve(ctx, b, &signal, underWay)
	brake, news := l.answer(&signal, &b.grant, underWay)
	if !news {
		return signal.Pause, false
	}
	err := l.brake(ctx, b.key, brake)
	// A call that takes nothing does not wait for a pause, nor anybody for what is
	// beyond the longest.
	return signal.Pause, err == nil && signal.Pause > 0 && signal.Pause <= l.cfg.MaxPause && b.cost > 0
}

// answer returns what a signal that came in answer to a granted slot calls for.
// underWay is how many other requests the upstream may have counted meanwhile.
func (l *Limiter) answer(s *upstream.Signal, g *grant, underWay int64) (b Brake, news bool) {
	c := l.compare(s)
	switch {
	case s.Pause > 0 && !s.Refused && c.knows(s, g, underWay):
	case s.Pause > 0:
		b.Pause, b.Slack, news = s.Pause, slackOf(s.Pause), true
	case s.Refused:
		b.Cut, news = l.cut(g.at), true
	}
	gap, lasts := c.gap(s, g, underWay), l.cfg.MaxPause
	if c.lowered == 0 {
		lasts = s.Reset
	}
	switch {
	case gap > 0 && (g.told == 0 || gap > g.told+g.told/4 || gap < g.told-g.told/4):
		b.Tell, b.Gap, b.GapFor, news = true, gap, lasts, true
	case gap == 0 && g.told > 0 && s.Limit > 0:
		b.Tell, news = true, true
	}
	return b, news
}

// slackOf returns the most by which a pause that an upstream asked for is made
// longer.
func slackOf(pause time.Duration) time.Duration { return min(pause/pauseSlack, mostSlack) }

// cut halves the rate of the fastest limit: that of a slow one, which has much
// left, is far from what goes on. When that was not enough, it is cut again.
func (l *Limiter) cut(since Instant) Cut {
	unit := MaxPeriod / 4 // The longest that a Cut can have.
	for i := range l.cfg.Limits {
		unit = min(unit, l.cfg.Limits[i].Period/time.Duration(l.cfg.Limits[i].Rate))
	}
	c := Cut{Unit: max(unit, time.Microsecond), Since: since, Recovery: l.cfg.MaxPause}
	if c.Unit < c.Recovery/100 {
		c.Recovery = min(max(100*c.Unit, leastRecovery), c.Recovery)
	}
	return c
}

// comparison is how an upstream's limit compares with ours.
type comparison struct {
	lowered time.Duration // how far apart units are by a limit lower than ours; 0: it is not
	window  time.Duration // of the upstream's limit; 0: not known
	same    *Limit        // of ours, that has the same number of units; nil: none
}

// compare compares limits. An upstream that does not say the window of its limit
// is taken to speak of ours with as many units, or the next more.
func (l *Limiter) compare(s *upstream.Signal) (c comparison) {
	if s.Limit <= 0 {
		return c
	}
	var more *Limit
	for i := range l.cfg.Limits {
		ours := &l.cfg.Limits[i]
		switch {
		case ours.Rate == s.Limit || ours.Max() == s.Limit:
			c.same = ours
		case ours.Rate > s.Limit && (more == nil || ours.Rate < more.Rate):
			more = ours
		}
	}
	switch {
	case s.Window > 0:
		c.window = s.Window
		if gap, unit := s.Window/time.Duration(s.Limit), l.unit(); gap > unit+unit/20 {
			c.lowered = spaced(gap)
		}
	case c.same != nil:
		c.window = c.same.Period
	case more != nil:
		c.window, c.lowered = more.Period, spaced(more.Period/time.Duration(s.Limit))
		if s.Reset > more.Period+more.Period/4+time.Second {
			// It speaks of another window, which is at least as long: by more than
			// the second by which resets are rounded up.
			c.window, c.lowered = 0, spaced(s.Reset/time.Duration(s.Limit))
		}
	}
	return c
}

// vague reports whether the reset is not the time at which a window ends, as
// more than a quarter of it is used though not a quarter of it would be over.
// Then some units are free sooner.
func (c *comparison) vague(s *upstream.Signal) bool {
	return c.window > 0 && s.Reset > c.window/4*3 && s.Remaining < s.Limit/4*3
}

// knows reports whether a response that admits and says that nothing is left
// tells nothing new: units are as far apart as the upstream's limit has it
// already, or ours is the same sliding window, which knows when the next is
// free. Nothing left where we know of much is news.
func (c *comparison) knows(s *upstream.Signal, g *grant, underWay int64) bool {
	if c.lowered > 0 {
		return g.told > 0 && c.vague(s)
	}
	return c.same != nil && c.same.Algorithm == SlidingWindow && g.remaining-underWay <= c.same.Rate/2
}

// gap returns how far apart units have to be by what an upstream says; 0 when
// the limits are enough. When its limit is lower than ours, or when much of it
// is used that is not ours, what is left is to last until the reset.
func (c *comparison) gap(s *upstream.Signal, g *grant, underWay int64) time.Duration {
	even := time.Duration(0)
	if s.Remaining > 0 && s.Reset > 0 && !(g.told > 0 && c.vague(s)) {
		even = s.Reset / time.Duration(s.Remaining)
	}
	switch {
	case c.lowered > 0:
		return max(c.lowered, even)
	case s.Limit > 0 && g.remaining-underWay-s.Remaining > s.Limit/2:
		return even
	}
	return 0
}

// spaced adds a twentieth, as units that leave evenly may arrive less so.
func spaced(gap time.Duration) time.Duration { return gap + gap/20 + time.Microsecond }

// unit returns the time between two units at the limiter's rate: that of its
// slowest limit.
func (l *Limiter) unit() (longest time.Duration) {
	for i := range l.cfg.Limits {
		longest = max(longest, l.cfg.Limits[i].Period/time.Duration(l.cfg.Limits[i].Rate))
	}
	return max(longest, time.Microsecond)
}
