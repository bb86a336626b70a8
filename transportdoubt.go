package weir

import (
	"context"
	"sync"

	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/upstream"
)

// look is what was left of a key when somebody looked, for those who have the
// same doubt.
type look struct {
	mu        sync.Mutex // held while one looks, for all keys of a shard
	key       string
	at        store.Instant
	remaining int64
}

// doubts reports whether an upstream that agrees with our limits has much less
// left than was left when a slot was granted. Either somebody has used it who
// does not share the store, or others who do have overtaken the request.
func (c *comparison) doubts(s *upstream.Signal, remaining, underWay int64) bool {
	return c.lowered == 0 && !c.other && !c.apart && s.Limit > 0 && s.Remaining >= 0 && remaining-underWay-s.Remaining > s.Limit/2
}

// resolve replaces what was left at the grant by what is left now, where there
// is doubt, so that only the use by others remains as news. What the store can't
// say stays in doubt.
func (l *Limiter) resolve(ctx context.Context, b *booking, c *comparison, s *upstream.Signal, underWay int64) {
	g := &b.grant
	if s.Refused || !c.doubts(s, g.remaining, underWay) {
		return
	}
	seen := &l.look1
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if seen.key == b.key && g.at > 0 && seen.at >= g.at && !c.doubts(s, seen.remaining, underWay) {
		g.remaining = min(g.remaining, seen.remaining)
		return
	}
	d, err := l.look(ctx, line.ID{Key: b.key})
	if err != nil {
		return
	}
	g.remaining = min(g.remaining, d.Remaining)
	seen.key, seen.at, seen.remaining = b.key, d.At, d.Remaining
}
