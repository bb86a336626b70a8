package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goweir/weir/store"
)

// waiters are the waiting calls of one key, as in a limiter. Each holds a slot, and moves it
// by the clock that watchers get. It books again if the clock says that a window no longer
// counts it.
type waiters struct {
	run    *run
	key    string
	limits []store.Limit // of the next call
	watch  store.Watch
	stop   func() // once, of watch
	heard  chan store.Clock
	clock  store.Clock // the last one
	own    bool        // the clock came with a decision, and says more than the brake's
	calls  []*call     // in the order of booking
	pauses [][2]store.Instant
	again  int // calls that booked again
	slow   int64
	told   []string
	from   store.Instant // for the log
}

type call struct {
	n            int
	cost         int64
	slot, leaves store.Instant
	d            store.Decision
	gone         bool // cancelled before it left
}

// queue returns the waiters of a new key. They stop watching after the case.
func (r *run) queue(key string, limits ...store.Limit) *waiters {
	q := &waiters{run: r, key: key, limits: limits, slow: 1, heard: make(chan store.Clock, 100)}
	q.watch = r.store.(store.Braker).WatchBrakes(func(scope, k string, c store.Clock) {
		if k == key && scope == "" {
			q.heard <- c
		}
	})
	q.stop = sync.OnceFunc(q.watch.Stop)
	r.Cleanup(q.stop)
	// A store that subscribes gets no messages before.
	for late := time.Now().Add(10 * time.Second); !q.watch.Covers(time.Now()) && time.Now().Before(late); {
		time.Sleep(time.Millisecond)
	}
	q.from = q.now()
	return q
}

// now returns the instant of a look.
func (q *waiters) now() store.Instant { return q.run.look(q.key, q.limits...).At }

// begun returns the time until a call leaves.
func (q *waiters) begun(c *call) time.Duration {
	return time.Duration(c.leaves-q.now()) * time.Microsecond
}

func (q *waiters) say(format string, args ...any) {
	q.told = append(q.told, fmt.Sprintf(format, args...))
}

// fail ends the case, and logs the story.
func (q *waiters) fail(format string, args ...any) {
	q.run.Helper()
	q.run.Fatalf("%s: %s\n%s", q.key, fmt.Sprintf(format, args...), strings.Join(q.told, "\n"))
}

func (q *waiters) ahead() (list []*call) {
	now := q.now()
	for _, c := range q.calls {
		if !c.gone && c.leaves > now {
			list = append(list, c)
		}
	}
	return list
}

// book makes a call.
func (q *waiters) book(cost int64, wait time.Duration) {
	q.run.Helper()
	d := q.run.reserve(q.key, cost, wait, q.limits...)
	at := d.At - q.from
	if !d.Allowed {
		q.say("%10d: %d refused for %v, %v", at, cost, d.RetryAfter, d.Reason)
		return
	}
	c := &call{n: len(q.calls), cost: cost, slot: d.Slot, leaves: d.At + store.Instant(d.Delay.Microseconds()), d: d}
	q.calls = append(q.calls, c)
	q.clock, q.own = d.Clock, true
	q.say("%10d: call %d of %d under %v comes at %d, slot %d", at, c.n, cost, describe(q.limits), c.leaves-q.from, c.slot-q.from)
	for _, o := range q.calls[:c.n] {
		// A microsecond of a slow clock is longer.
		if !o.gone && o.leaves > d.At && (o.slot > c.slot || o.leaves >= c.leaves+store.Instant(q.slow)) {
			q.fail("call %d leaves before call %d", c.n, o.n)
		}
	}
}

func (q *waiters) cancel(c *call) {
	c.gone = true
	q.run.cancel(c.d)
	q.say("%10d: call %d is cancelled", q.now()-q.from, c.n)
}

// brake sets a brake, and moves the waiting calls.
func (q *waiters) brake(b store.Brake) {
	q.run.Helper()
	since, now := time.Now(), q.now()
	q.run.brake(q.key, b, q.limits...)
	q.say("%10d: brake %+v", now-q.from, b)
	if end := now + store.Instant(b.Pause.Microseconds()); b.Pause > 0 {
		q.pauses = append(q.pauses, [2]store.Instant{now, end})
	}
	if b.Lift {
		for i := range q.pauses {
			q.pauses[i][1] = min(q.pauses[i][1], now)
		}
	}
	q.hear(since)
	var again []*call
	for _, c := range q.ahead() {
		before := c.leaves
		if c.leaves = real(q.clock, c.slot); c.leaves != before {
			q.say("            call %d moves to %d", c.n, c.leaves-q.from)
		}
		if q.clock != nil && !q.clock.Counts(c.d.Receipt) {
			again = append(again, c)
		}
	}
	for _, c := range again {
		q.again++
		q.cancel(c)
		q.book(c.cost, store.MaxPeriod/4)
	}
}

// hear waits until watchers have the clock that a look shows, if any call moves. If the watch
// may have missed brakes since then, the look's clock holds.
func (q *waiters) hear(since time.Time) {
	q.run.Helper()
	want, ahead := q.run.look(q.key, q.limits...).Clock, q.ahead()
	agrees := func() bool {
		return !slices.ContainsFunc(ahead, func(c *call) bool { return real(q.clock, c.slot) != real(want, c.slot) })
	}
	for late := time.After(10 * time.Second); !agrees() || len(q.heard) > 0; {
		select {
		case c := <-q.heard:
			if q.clock == nil || c.Set() > q.clock.Set() || c.Set() == q.clock.Set() && !q.own {
				q.clock, q.own = c, false
			}
		case <-late:
			if q.watch.Covers(since) {
				q.fail("a brake moved calls, and no watcher heard of it")
			}
			q.clock = want
		}
	}
}

// real returns the instant of a slot. Without a clock it is the store's own time.
func real(c store.Clock, slot store.Instant) store.Instant {
	if c == nil {
		return slot
	}
	return c.Real(slot)
}

// judge checks the calls that left, or will, against limits that all of them obeyed.
func (q *waiters) judge(limits ...store.Limit) {
	q.run.Helper()
	acts := q.acts()
	for _, l := range limits {
		if !conforms(l, acts) {
			q.fail("%v is exceeded: %v", describe([]store.Limit{l}), acts)
		}
	}
}

// acts returns the calls that left, in order. No call leaves in a pause.
func (q *waiters) acts() (acts []act) {
	q.run.Helper()
	for _, c := range q.calls {
		for _, p := range q.pauses {
			if !c.gone && c.leaves > p[0] && c.leaves < p[1] && c.d.At < p[1] {
				q.fail("call %d leaves at %d in a pause from %d to %d", c.n, c.leaves-q.from, p[0]-q.from, p[1]-q.from)
			}
		}
		if !c.gone && c.cost > 0 {
			acts = append(acts, act{int64(c.leaves), c.cost})
		}
	}
	slices.SortStableFunc(acts, func(a, b act) int { return cmp.Compare(a.at, b.at) })
	return acts
}

// describe names limits in full.
func describe(limits []store.Limit) (list []string) {
	for _, l := range limits {
		list = append(list, fmt.Sprintf("%v %v burst %d", l.Algorithm, l, l.Max()))
	}
	return list
}
