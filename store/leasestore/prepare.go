package leasestore

import (
	"hash/maphash"
	"time"

	"github.com/goweir/weir"
)

// prepared is a limit in a scope that calls come for.
type prepared struct {
	store *Store
	scope string
	limit weir.Limit
	hash  uint64 // of the scope
}

// Prepare implements [weir.Preparer]: calls that find a unit here are decided in
// a shorter way, and those that wait may use one too.
func (s *Store) Prepare(of weir.Store, scope string, limit weir.Limit) weir.Prepared {
	if of != weir.Store(s) || s.cfg.Units == 1 || limit.Algorithm == weir.SlidingWindow {
		return nil
	}
	return &prepared{store: s, scope: scope, limit: limit, hash: s.scopeHash(scope)}
}

// Take implements [weir.Prepared]. All but a unit that was taken ahead it leaves
// to the Store.
func (p *prepared) Take(key string, cost int64) (o weir.Outcome, done bool, err error) {
	s, h := p.store, maphash.String(p.store.seed, key)^p.hash
	sh, now := s.shard(h), s.now()
	sh.mu.Lock()
	defer sh.mu.Unlock()
	l := sh.leases[h]
	if l == nil || l.left < cost || now >= l.until || cost == 0 || !l.plain || l.limits[0] != p.limit || l.key != key || l.scope != p.scope {
		return o, false, nil
	}
	l.left -= cost
	l.seen = now
	ago := max(now-l.since, 0)
	o.Remaining, o.ResetAfter, o.At = l.d.Remaining+l.left, max(l.d.ResetAfter-ago, 0), l.at(ago)
	return o, true, nil
}

// at is the instant of a decision so long after that of the call that took.
func (l *lease) at(ago time.Duration) weir.Instant {
	if l.d.At == 0 {
		return 0
	}
	return l.d.At + weir.Instant(ago.Microseconds())
}
