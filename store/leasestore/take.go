package leasestore

import (
	"cmp"
	"context"
	"hash/maphash"
	"time"

	"github.com/goweir/weir/internal/keys"
	"github.com/goweir/weir/store"
)

// Take implements [store.Store]. A call that takes units ahead lasts as long as one of the
// store behind. Calls for the same key wait for it meanwhile.
func (s *Store) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if s.cfg.Store == nil {
		return store.Decision{}, &store.ConfigError{Field: "leasestore.Store", Want: "one made by New", Got: "a zero one"}
	}
	if s.cfg.Units == 1 || !leasable(&req) {
		return s.cfg.Store.Take(ctx, req)
	}
	if err := cmp.Or(ctx.Err(), req.Validate()); err != nil {
		return store.Decision{}, err
	}
	hash := hashOf(id{req.Charges[0].Scope, req.Charges[0].Key})
	sh := s.shard(hash)
	for {
		var d store.Decision
		next, r, wait := s.use(sh, hash, &req, &d)
		switch next {
		case used:
			return d, nil
		case alone:
			return s.cfg.Store.Take(ctx, req)
		case more:
			return s.refill(ctx, sh, r, &req)
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return store.Decision{}, ctx.Err()
		}
	}
}

// leasable reports whether a request may take units ahead: it takes the same cost of all
// limits of one key, now or not at all, without a receipt.
func leasable(req *store.Request) bool {
	if req.MaxWait > 0 || req.Cancelable || req.Hold.Asked() || len(req.Charges) == 0 || !keys.One(req.Charges) {
		return false
	}
	first := &req.Charges[0]
	for i := range req.Charges {
		c := &req.Charges[i]
		if c.Cost != first.Cost || c.Reserve != 0 || c.Limit.Algorithm == store.SlidingWindow {
			return false
		}
	}
	return first.Cost > 0
}

// use serves a call from units taken ahead, or returns its next step: with more, a refill;
// with wait, a channel to wait for.
func (s *Store) use(sh *shard, hash uint64, req *store.Request, d *store.Decision) (next, *refill, <-chan struct{}) {
	now, first := s.now(), &req.Charges[0]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.closed {
		return alone, nil, nil
	}
	l := sh.leases[hash]
	if l == nil {
		if l = s.add(sh, hash, now); l == nil {
			return alone, nil, nil
		}
		l.id = id{first.Scope, first.Key}
		l.adopt(req.Charges)
	}
	if l.key != first.Key || l.scope != first.Scope {
		return alone, nil, nil
	}
	l.seen = now
	n := l.use(req, now, d)
	if n == more {
		return n, s.begin(l, first.Cost, now), nil
	}
	return n, nil, l.taking
}

// add makes a lease of a key; nil when there are too many. It also looks at a few leases,
// and forgets idle ones. The caller holds the shard's lock.
func (s *Store) add(sh *shard, hash uint64, now time.Duration) *lease {
	if sh.leases == nil {
		sh.leases = make(map[uint64]*lease)
	}
	looks := 4
	for other, l := range sh.leases {
		if looks--; looks < 0 {
			break
		}
		if l.lapse(now); l.taking == nil && l.left == 0 && now-l.seen > s.cfg.For {
			delete(sh.leases, other)
		}
	}
	if len(sh.leases) >= s.room {
		return nil
	}
	l := new(lease)
	sh.leases[hash] = l
	return l
}

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
