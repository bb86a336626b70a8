package weir

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/store"
)

type backgroundKey struct{}

// InBackground returns a context whose calls are of the background class: they
// get what the others leave. A background call takes units that are free now,
// and only while nobody waits for slots; it never books ahead, so that it is
// never before a call that comes later and is not of its class. What it takes
// leaves a share to the others: see Config.Leave.
//
// A background call that waits asks again when there may be room: of one process
// the first in line does, and the others wait behind it in the order of their
// arrival. The first in line fails with a *[LimitedError] as soon as it is clear
// that MaxWait or its deadline comes before it would ask again. Those behind it
// wait until then: after MaxWait they fail with a *[LimitedError], at the deadline
// with the context's error.
func InBackground(ctx context.Context) context.Context {
	anyBackground.Store(true)
	return context.WithValue(ctx, backgroundKey{}, true)
}

// anyBackground spares programs without background calls the search of a
// context, which may be a long chain.
var anyBackground atomic.Bool

func inBackground(ctx context.Context) bool {
	return anyBackground.Load() && ctx.Value(backgroundKey{}) != nil
}

// leave returns how many units of a limit a background call leaves to others: the
// share rounded up, and at most all but one, so that it can be used at all.
func (l *Limiter) leave(limit *Limit) int64 {
	percent := int64(l.cfg.Leave)
	if percent == 0 {
		if limit.Algorithm != GCRA {
			return 0
		}
		percent = 10
	}
	most := limit.Max()
	return min((most*percent+99)/100, most-1)
}

// behind holds the lines of background calls that wait.
type behind struct {
	mu    sync.Mutex
	lines map[string]*behindLine
}

// behindLine is that of one key. Whoever holds its one token asks the store.
type behindLine struct {
	calls int
	token chan struct{}
	heard store.Decision // the last refusal; zero: none
	free  time.Time      // when its RetryAfter is over
}

func (b *behind) enter(key string) *behindLine {
	b.mu.Lock()
	defer b.mu.Unlock()
	line := b.lines[key]
	if line == nil {
		line = &behindLine{token: make(chan struct{}, 1)}
		line.token <- struct{}{}
		if b.lines == nil {
			b.lines = make(map[string]*behindLine)
		}
		b.lines[key] = line
	}
	line.calls++
	return line
}

func (b *behind) leave(key string, line *behindLine) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if line.calls--; line.calls == 0 {
		delete(b.lines, key)
	}
}

// hear keeps a refusal for those who wait behind.
func (b *behind) hear(line *behindLine, d *store.Decision) {
	b.mu.Lock()
	defer b.mu.Unlock()
	line.heard, line.free = *d, time.Now().Add(d.RetryAfter)
}

// refusal is what a call is told that did not come to ask: what the first in line
// heard last. When that is over, or nothing was heard yet, asking again may be
// right at once.
func (l *Limiter) refusal(line *behindLine) store.Decision {
	l.behind.mu.Lock()
	defer l.behind.mu.Unlock()
	d := line.heard
	if d.Reason == Allowed {
		d = store.Decision{Reason: Limited, Limit: store.Limit(l.cfg.Limits[0]), Scope: l.cfg.Name}
	}
	d.RetryAfter = max(time.Until(line.free), time.Millisecond)
	return d
}

// waitBehind is what waitSlot does for a background call.
func (c *waitingCall) waitBehind(ctx context.Context) (grant, error) {
	g, waited, err := c.standBehind(ctx)
	if waited || c.claim != nil && c.claim.waited {
		c.observe(ctx, err)
	}
	return g, err
}

// standBehind waits for the call's turn to ask, and then for units that are free.
// It reports whether it waited for either.
func (c *waitingCall) standBehind(ctx context.Context) (g grant, waited bool, err error) {
	l, key := c.limiter, c.id.key
	line := l.behind.enter(key)
	defer l.behind.leave(key, line)
	if waited, err = c.turn(ctx, line); err != nil {
		return grant{}, waited, err
	}
	defer func() { line.token <- struct{}{} }()
	c.again = true // What is left of the longest wait counts from the start.
	for {
		d, bound, err := c.ask(ctx)
		if err != nil {
			return grant{}, waited, err
		}
		c.d = d
		switch {
		case d.Allowed:
			return grantOf(&d), waited, nil
		case d.Reason != Limited && d.Reason != Paused:
			return grant{}, waited, l.limited(key, d, bound)
		}
		l.behind.hear(line, &d)
		d.RetryAfter += courtesy(&d.Limit)
		rest := max(d.RetryAfter, time.Millisecond)
		// At the deadline it is too late to ask, but not when MaxWait ends.
		if longest, bound := longestWait(ctx, time.Now(), c.left()); rest > longest || rest == longest && bound == BoundDeadline {
			return grant{}, waited, l.limited(key, d, bound)
		}
		waited = true
		if err := sleep(ctx, rest); err != nil {
			return grant{}, waited, err
		}
	}
}

// turn waits for the line's token. Where it returns an error the call has not got
// it.
func (c *waitingCall) turn(ctx context.Context, line *behindLine) (waited bool, err error) {
	select {
	case <-line.token:
		return false, nil
	default:
	}
	timed := ctx
	if c.maxWait > 0 {
		var cancel context.CancelFunc
		timed, cancel = context.WithDeadline(ctx, c.start.Add(c.maxWait))
		defer cancel()
	}
	select {
	case <-line.token:
		return true, nil
	case <-timed.Done():
	}
	c.d = c.limiter.refusal(line)
	if err := ctx.Err(); err != nil {
		return true, err
	}
	return true, c.limiter.limited(c.id.key, c.d, BoundMaxWait)
}

// courtesy is how long a background call lets others go first when units are
// free again. Those of a window are so all at once, and who was waiting for the
// first of them may want the rest.
func courtesy(l *store.Limit) time.Duration {
	if l.Algorithm == GCRA {
		return 0
	}
	return min(5*time.Millisecond, l.Period/100)
}
