package leasestore

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/goweir/weir"
)

// shard holds some of the leases.
type shard struct {
	mu     sync.Mutex
	leases map[id]*lease
	closed bool
}

func (s *Store) shard(k id) *shard {
	return &s.shards[(maphash.String(s.seed, k.key)^3*maphash.String(s.seed, k.scope))%uint64(len(s.shards))]
}

// use has a call take a unit that was taken ahead, or says what it has to do
// instead: with more, refill; with wait, wait for the channel.
func (s *Store) use(sh *shard, k id, req *weir.Request, d *weir.Decision) (next, *refill, <-chan struct{}) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.closed {
		return alone, nil, nil
	}
	now := s.now()
	l := sh.leases[k]
	if l == nil {
		if l = s.add(sh, k, now); l == nil {
			return alone, nil, nil
		}
		l.adopt(req.Charges)
	}
	l.seen = now
	n := l.use(req, now, d)
	if n == more {
		return n, s.begin(l, req.Charges[0].Cost, now), nil
	}
	return n, nil, l.taking
}

// add makes a lease of a key, nil when there are too many. Each new one pays for
// looking at a few others. The shard is locked.
func (s *Store) add(sh *shard, k id, now time.Duration) *lease {
	if sh.leases == nil {
		sh.leases = make(map[id]*lease)
	}
	looks := 4
	for other, l := range sh.leases {
		if looks--; looks < 0 {
			break
		}
		if l.taking == nil && l.left == 0 && now-l.seen > s.cfg.For {
			delete(sh.leases, other)
		}
	}
	if len(sh.leases) >= max(s.cfg.MaxKeys/len(s.shards), 1) {
		return nil
	}
	l := &lease{id: k}
	sh.leases[k] = l
	return l
}

// close takes all that is left, and lets nothing be taken ahead any more.
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
