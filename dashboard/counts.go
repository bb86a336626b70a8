package dashboard

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/store"
)

const (
	// maxLimiters bounds the limiters with a row of their own. Further ones share a row.
	maxLimiters = 256
	otherName   = "(others)"
	// rateSeconds is the time in seconds over which rates are averaged.
	rateSeconds = 10
	// maxReason is above all of weir's reasons.
	maxReason = 16
)

// counts are the events of this process as numbers. It is safe for concurrent use.
//
// Decisions only add to atomic numbers. The first event in a second puts the previous
// second into the history.
type counts struct {
	limiters sync.Map // string → *limiterCounts
	number   atomic.Int64
	took     latencies
	seen     atomic.Bool
	now      atomic.Int64 // the second that is counted, Unix time

	mu      sync.Mutex // for all below
	history history
	total   struct{ admitted, refused int64 } // up to the second now
	read    second                            // the last reading of Redis
}

type limiterCounts struct {
	name             string
	admitted         atomic.Int64
	refused          [maxReason]atomic.Int64
	waiting          atomic.Int64
	degraded, errors atomic.Int64

	past [rateSeconds + 1]struct{ admitted, refused int64 } // totals at the end of seconds; under counts.mu
}

func (l *limiterCounts) allRefused() (n int64) {
	for i := range l.refused {
		n += l.refused[i].Load()
	}
	return n
}

func (c *counts) of(limiter string) *limiterCounts {
	if l, ok := c.limiters.Load(limiter); ok {
		return l.(*limiterCounts)
	}
	if c.number.Load() >= maxLimiters {
		limiter = otherName
	}
	l, loaded := c.limiters.LoadOrStore(limiter, &limiterCounts{name: limiter})
	if !loaded {
		c.number.Add(1)
	}
	return l.(*limiterCounts)
}

// tick begins the second of an instant, if it is a new one.
func (c *counts) tick(now time.Time) {
	if now.Unix() > c.now.Load() {
		c.roll(now.Unix())
	}
}

// all returns the counts of all limiters, by name.
func (c *counts) all() (list []*limiterCounts) {
	c.limiters.Range(func(_, l any) bool {
		list = append(list, l.(*limiterCounts))
		return true
	})
	slices.SortFunc(list, func(a, b *limiterCounts) int { return cmp.Compare(a.name, b.name) })
	return list
}

// roll ends the current second, and the empty ones after it, up to another one.
func (c *counts) roll(to int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	from := c.now.Load()
	if to <= from {
		return
	}
	defer c.now.Store(to)
	if from == 0 {
		return
	}
	s := c.read
	c.read = second{}
	if s.fromHook = c.seen.Load(); s.fromHook {
		for _, l := range c.all() {
			s.admitted += l.admitted.Load()
			s.refused += l.allRefused()
			s.waiting += max(l.waiting.Load(), 0)
		}
		s.admitted, c.total.admitted = s.admitted-c.total.admitted, s.admitted
		s.refused, c.total.refused = s.refused-c.total.refused, s.refused
	}
	s.p50, s.p99 = c.took.empty()
	c.history.put(from, s)
	quiet := second{fromHook: s.fromHook, waiting: s.waiting}
	for at := max(from+1, to-historySeconds); at < to; at++ {
		c.history.put(at, quiet)
	}
	for at := max(from, to-rateSeconds-1); at < to; at++ {
		i := at % (rateSeconds + 1)
		for _, l := range c.all() {
			l.past[i].admitted, l.past[i].refused = l.admitted.Load(), l.allRefused()
		}
	}
}

// reading notes a reading of Redis in the current second.
func (c *counts) reading(fleet, paused int64, latency float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = second{fromRead: true, fleet: fleet, paused: paused, latency: latency}
}

// process returns the counts as a part of a frame, or nil before the first event.
func (c *counts) process(name string, now time.Time) *processPart {
	if !c.seen.Load() {
		return nil
	}
	c.tick(now)
	p := &processPart{Name: name, Limiters: []limiterRow{}}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.now.Load()
	last, first := (at-1)%(rateSeconds+1), at%(rateSeconds+1)
	for _, l := range c.all() {
		row := limiterRow{
			Limiter: l.name, Admitted: l.admitted.Load(), Refused: map[string]int64{},
			Waiting: max(l.waiting.Load(), 0), Degraded: l.degraded.Load(), StoreErrors: l.errors.Load(),
			AdmittedRate: float64(l.past[last].admitted-l.past[first].admitted) / rateSeconds,
			RefusedRate:  float64(l.past[last].refused-l.past[first].refused) / rateSeconds,
		}
		for i := range l.refused {
			if n := l.refused[i].Load(); n > 0 {
				row.Refused[store.Reason(i).String()] += n
			}
		}
		p.Waiting += row.Waiting
		p.Limiters = append(p.Limiters, row)
	}
	return p
}

// since returns the points of the history from a second on.
func (c *counts) since(from int64, hook, read bool) points {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.history.since(from, hook, read)
}
