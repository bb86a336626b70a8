package line

import (
	"context"
	"time"

	"github.com/goweir/weir/store"
)

// unwatched is the longest wait after which a slot is used although a brake may
// have been missed.
const unwatched = 50 * time.Millisecond

// answer is the store's last answer to a line's question for brakes. The call
// that has line.asking may touch it.
type answer struct {
	asked    time.Time     // the last question, whatever came of it
	answered time.Time     // the last question with an answer
	braked   store.Instant // that answer; 0: no brake
}

// confirm reports that no brake was set since a slot was granted. Where the watch
// may have missed one, it asks the store. One answer serves all calls of the line
// that came before the question, and all slots granted before it under a watch
// without a gap.
func (q *line) confirm(ctx context.Context, s *slot) bool {
	ask := q.lines.cfg.BrakedAt
	if ask == nil || s.Granted == 0 {
		return true
	}
	watcher, came := &q.lines.watcher, time.Now()
	if came.Sub(s.Booked) < unwatched || watcher.covers(s.Booked) {
		return true
	}
	select {
	case q.asking <- struct{}{}:
		defer func() { <-q.asking }()
	case <-ctx.Done():
		return true // A slot that has come is not given back.
	}
	a := &q.answer
	if covered := a.answered.After(s.Booked) && watcher.covers(a.answered); !covered && a.asked.Before(came) {
		a.asked = time.Now()
		braked, err := ask(ctx, q.id)
		if err != nil {
			return true // The store is away: its grants hold.
		}
		a.answered, a.braked = a.asked, braked
	}
	return a.braked < s.Granted
}
