package line

import "time"

// unwatched is the longest wait after which a slot is used although a brake may
// have been missed.
const unwatched = 50 * time.Millisecond

// isSure reports whether a slot that has come knows of all brakes.
func (q *line) isSure(s *Slot, now time.Time) bool {
	return q.lines.cfg.Clock == nil || s.own == 0 || now.Sub(s.sure) < unwatched || q.lines.watcher.covers(s.sure)
}

// look asks the store for the key's clock, for all calls that wait for the key. The
// slots that have come hold if the store is away.
func (q *line) look(w *waiter) {
	asked := time.Now()
	defer func() { // The store may panic.
		q.shard.mu.Lock()
		defer q.shard.mu.Unlock()
		if q.looker == w {
			q.looker = nil
		}
		now := time.Now()
		for _, s := range q.slots {
			if s == w.slot || w.ctx.Err() == nil && !s.At.After(now) {
				s.sure = now
			}
		}
		q.advance()
	}()
	if c, err := q.lines.cfg.Clock(w.ctx, q.id); err == nil {
		q.shard.mu.Lock()
		defer q.shard.mu.Unlock()
		q.shard.move(q.id.Key, c, asked)
	}
}
