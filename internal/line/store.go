package line

import (
	"context"
	"slices"
	"sort"
	"time"
)

// A line calls the store in the background for two reasons: to look at its key, and to give
// slots back.

// lookTimeout bounds a look at the key.
const lookTimeout = time.Second

// look is a line's look at its key, for all its slots: it finds brakes that the watch may
// have missed. A line has at most one, on a goroutine of its own. The first slot that has
// come waits for the look, up to [unwatched] after the question. The key's [pace] keeps
// the slots behind it apart. Slots don't wait for a store that is slow or away.
type look struct {
	underWay bool
	asked    time.Time     // when the last began
	took     time.Duration // of the last; 0: none yet, or it was slow
	slow     bool          // the last took unwatched or longer, or failed
	held     bool          // the first slot has come, and waits
}

// isFresh reports whether a slot needs no look at an instant, watched or not. A look ahead
// of its slot may be older.
func (q *line) isFresh(s *Slot, at time.Time) bool {
	return q.lines.cfg.Clock == nil || s.own == 0 || at.Sub(s.sure) < unwatched+q.looks.took
}

// holds reports whether the first slot, which has come, waits for a look.
func (q *line) holds(s *Slot, now time.Time) bool {
	l := &q.looks
	waited := l.held
	if l.held = false; !q.isFresh(s, now) && !q.lines.watcher.covers(s.sure) && q.look(s, now) && !l.slow {
		if l.held = now.Before(l.asked.Add(unwatched)); l.held {
			return true
		}
		l.slow, l.took = true, 0
	}
	if waited {
		q.shard.pace(q.id.Key, now).delayed(min(now.Sub(s.At), unwatched), now)
	}
	return false
}

// acts returns when the line acts next: when its first slot leaves, or at a look ahead of
// a slot. The look is as early as the last look took.
func (q *line) acts(now time.Time) time.Time {
	l, s := &q.looks, q.slots[0]
	if s.At.After(now) {
		l.held = false // A brake has moved the slot.
	}
	if l.held {
		return l.asked.Add(unwatched)
	}
	due := later(s.At, q.free)
	if l.took == 0 || q.lines.watcher.covers(s.sure) {
		return due
	}
	if i := slices.IndexFunc(q.slots, func(s *Slot) bool { return !q.isFresh(s, later(s.At, q.free)) }); i >= 0 {
		switch ahead := later(q.slots[i].At, q.free).Add(-l.took); {
		case !ahead.After(now):
			q.look(s, now)
		case ahead.Before(due):
			return ahead
		}
	}
	return due
}

// look asks the store, unless a look is under way, or one has just failed. It reports
// whether one is under way.
func (q *line) look(s *Slot, now time.Time) bool {
	l := &q.looks
	if !l.underWay && (!l.slow || now.Sub(l.asked) >= unwatched) {
		l.underWay, l.asked = true, now
		go q.ask(context.WithoutCancel(s.owner.ctx), now)
	}
	return l.underWay
}

// ask asks the store for the key's clock.
func (q *line) ask(ctx context.Context, asked time.Time) {
	timed, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	c, err := q.lines.cfg.Clock(timed, q.id)
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	l := &q.looks
	l.underWay, l.took = false, time.Since(asked)
	if l.slow = err != nil || l.took >= unwatched; l.slow {
		l.took = 0
	}
	if err == nil {
		q.shard.move(q.id.Key, c, asked)
	}
	q.advance()
}

// gather is how long the first slot of a key waits for others if calls of several lines wait.
const gather = 5 * time.Millisecond

// surplus is a slot on its way back to the store.
type surplus struct {
	ctx  context.Context // the leaver's, for its values
	id   ID
	slot *Slot
	done chan struct{}
}

// giveBack gives a slot back in the background. The channel is closed afterwards; nil: there is
// nothing to do. A key has one goroutine for this, which takes the latest slot first. So each
// give-back of cancelled calls is exact: no later booking is left. The shard is locked.
func (q *line) giveBack(ctx context.Context, slot *Slot) <-chan struct{} {
	if q.lines.cfg.Cancel == nil || slot.Receipt == nil {
		return nil
	}
	s, key, b := q.shard, q.id.Key, surplus{ctx, q.id, slot, make(chan struct{})}
	list, underWay := s.surplus[key]
	if !underWay {
		pause := time.Duration(0)
		if s.keys[key] > 1 { // The end of a program cancels calls of all lines.
			pause = gather
		}
		go q.lines.giveAllBack(s, key, pause)
	}
	// A line gives its latest slot up first, so that the place is near the end.
	i := sort.Search(len(list), func(i int) bool { return slot.compare(list[i].slot) > 0 })
	s.surplus[key] = slices.Insert(list, i, b)
	return b.done
}

// giveAllBack gives slots of a key back until none is left.
func (l *Lines) giveAllBack(s *shard, key string, pause time.Duration) {
	var failed time.Duration
	for time.Sleep(pause); ; {
		s.mu.Lock()
		list := s.surplus[key]
		if len(list) == 0 {
			delete(s.surplus, key)
			s.mu.Unlock()
			return
		}
		b, start := list[0], time.Now()
		s.surplus[key] = list[1:]
		s.mu.Unlock()
		if failed < GiveBackTimeout && l.cfg.Cancel(b.ctx, b.id, b.slot.Receipt) != nil {
			failed += time.Since(start)
		}
		close(b.done)
	}
}
