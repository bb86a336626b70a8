package leasestore

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/goweir/weir/store"
)

// shard holds some of the leases.
type shard struct {
	mu     sync.Mutex
	leases map[uint64]*lease // by the hash of the key; keys with equal hashes share one
	closed bool
}

func (s *Store) shard(hash uint64) *shard { return &s.shards[hash%uint64(len(s.shards))] }

func (s *Store) hash(k id) uint64 { return maphash.String(s.seed, k.key) ^ s.scopeHash(k.scope) }

// scopeHash returns the scope's part of a key's hash.
func (s *Store) scopeHash(scope string) uint64 { return 3 * maphash.String(s.seed, scope) }

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
	if len(sh.leases) >= max(s.cfg.MaxKeys/len(s.shards), 1) {
		return nil
	}
	l := new(lease)
	sh.leases[hash] = l
	return l
}

// close takes all unused units, and ends taking ahead.
func (s *Store) close(sh *shard) (all []unused) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.closed = true
	for k, l := range sh.leases {
		if u, some := s.end(l); some {
			all = append(all, u)
		}
		if l.timer != nil {
			l.timer.Stop()
		}
		if l.taking == nil {
			delete(sh.leases, k)
		}
	}
	return all
}
