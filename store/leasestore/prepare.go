package leasestore

import (
	"hash/maphash"

	"github.com/goweir/weir/store"
)

// prepared is a limit in a scope.
type prepared struct {
	store *Store
	scope string
	limit store.Limit
	hash  uint64 // of the scope
}

// Prepare implements [store.Preparer]. Its shorter way decides calls that find a unit here.
// Calls that would wait may use it, too.
func (s *Store) Prepare(of store.Store, scope string, limit store.Limit) store.Prepared {
	if of != store.Store(s) || s.cfg.Units == 1 || limit.Algorithm == store.SlidingWindow {
		return nil
	}
	return &prepared{store: s, scope: scope, limit: limit, hash: scopeHash(scope)}
}

// Take implements [store.Prepared]. It decides only with a unit taken ahead.
func (p *prepared) Take(key string, cost int64) (o store.Outcome, done bool, err error) {
	s, h := p.store, maphash.String(seed, key)^p.hash
	sh, now := s.shard(h), s.now()
	sh.mu.Lock()
	defer sh.mu.Unlock()
	l := sh.leases[h]
	if l == nil || l.left < cost || now >= l.until || cost == 0 || l.key != key || l.scope != p.scope || l.of != &p.limit && !p.fits(l) {
		return o, false, nil
	}
	l.left -= cost
	l.seen = now
	ago := max(now-l.since, 0)
	o.Remaining, o.ResetAfter, o.At = l.plain.Remaining+l.left, max(l.plain.ResetAfter-ago, 0), after(l.plain.At, ago)
	return o, true, nil
}

// Source implements [store.Prepared].
func (p *prepared) Source() store.Source { return store.SourceLease }

// fits reports whether an Outcome holds all of the lease's decision, and notes that.
func (p *prepared) fits(l *lease) bool {
	if len(l.limits) != 1 || l.limits[0] != p.limit || l.d.Degraded || l.isBraked(p.store.cfg.For) {
		return false
	}
	l.of = &p.limit
	return true
}
