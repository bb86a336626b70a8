package line

import (
	"context"
	"time"

	"github.com/goweir/weir/store"
)

// unwatched is the longest wait after which a slot is used although a brake may
// have been missed.
const unwatched = 50 * time.Millisecond

// look is a line's last look at its key's clock. The call that has line.looking may
// touch it.
type look struct {
	asked    time.Time   // the last question, whatever came of it
	answered time.Time   // the last question with an answer
	clock    store.Clock // that answer
}

// confirm makes sure that a slot that has come knows of all brakes. Where the watch
// may have missed one, it looks at the key, and moves all slots of the key. One look
// serves all calls of the line that came before it, and all slots granted before it
// under a watch without a gap. It reports false when the slot is lost.
func (q *line) confirm(ctx context.Context, s *slot) (holds bool) {
	ask := q.lines.cfg.Clock
	if ask == nil || s.Own == 0 {
		return true
	}
	watcher, came := &q.lines.watcher, time.Now()
	if came.Sub(s.sure) < unwatched || watcher.covers(s.sure) {
		return true
	}
	select {
	case q.looking <- struct{}{}:
		defer func() { <-q.looking }()
	case <-ctx.Done():
		return true // A slot that has come is not given back.
	}
	k := &q.look
	if covered := k.answered.After(s.sure) && watcher.covers(k.answered); !covered && k.asked.Before(came) {
		k.asked = time.Now()
		c, err := ask(ctx, q.id)
		if err != nil {
			return true // The store is away: its grants hold.
		}
		k.answered, k.clock = k.asked, c
		q.shard.mu.Lock()
		q.shard.move(q.id.Key, c, k.asked)
		q.shard.mu.Unlock()
	}
	return s.move(k.clock, k.answered)
}
