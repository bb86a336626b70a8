package localstore

import (
	"hash/maphash"
	"math/bits"
	"sync"
)

const (
	shards = 64 // as many as a uint64 has bits
	// newLooks is at how many keys the call for a new one looks. More than one, so
	// that those that lapse are found faster than new ones come.
	newLooks = 4
	// fullLooks is the same when the store is full. Few, since who fills it can
	// have each call look.
	fullLooks = 32
)

// shard is a part of the keys behind a lock of its own.
type shard struct {
	mu    sync.Mutex
	last  int64         // when the last call of a small key was, by the clock
	calls uint64        // of small keys that were not hot
	small table         // the keys that are not below
	keys  map[id]*entry // no key is in both
	all   []*entry      // the same, in no order; each knows its place
	hand  int           // where the search for lapsed ones goes on
	peak  int           // the most there have been since the map was made
	_     [48]byte      // cache lines of its own, as it begins a Store
	hot   hots
}

func (s *Store) hash(k *id) uint64 { return hash(s.seed, maphash.String(s.seed, k.key), k.scope) }

func (s *Store) index(k id) int { return int(s.hash(&k) % shards) }

func (s *Store) shard(k id) *shard { return &s.shards[s.index(k)] }

// lock locks shards, one for each bit. In order, so that two requests can't wait for
// each other.
func (s *Store) lock(shards uint64) {
	for ; shards != 0; shards &= shards - 1 {
		s.shards[bits.TrailingZeros64(shards)].mu.Lock()
	}
}

func (s *Store) unlock(shards uint64) {
	for ; shards != 0; shards &= shards - 1 {
		s.shards[bits.TrailingZeros64(shards)].mu.Unlock()
	}
}

// entry returns a key's, or nil. A small key becomes an entry.
func (s *Store) entry(sh *shard, k id) *entry {
	if e := sh.keys[k]; e != nil {
		return e
	}
	i := sh.small.find(s.hash(&k), &k, nil)
	if i < 0 {
		return nil
	}
	at := &sh.small.slots[i]
	sh.hot.cool(at)
	m := &sh.small.classes[at.class]
	e := s.large(k, m.of, &at.state, m.further(at))
	sh.small.remove(s.seed, i)
	sh.add(e)
	return e
}

// add keeps a new entry, for which there is room.
func (sh *shard) add(e *entry) {
	if sh.keys == nil {
		sh.keys = make(map[id]*entry)
	}
	e.place = len(sh.all)
	sh.all = append(sh.all, e)
	sh.keys[e.id] = e
	sh.peak = max(sh.peak, len(sh.all))
}

// remove forgets an entry. Maps never shrink by themselves: what a crowd of
// keys took is given back when few of them are left.
func (s *Store) remove(sh *shard, e *entry) {
	last := len(sh.all) - 1
	sh.all[e.place] = sh.all[last]
	sh.all[e.place].place = e.place
	sh.all[last] = nil
	sh.all = sh.all[:last]
	delete(sh.keys, e.id)
	s.count.Add(-1)
	if sh.peak > 1024 && last < sh.peak/8 {
		sh.all = append(make([]*entry, 0, 2*last), sh.all...)
		sh.keys = make(map[id]*entry, 2*last)
		for _, e := range sh.all {
			sh.keys[e.id] = e
		}
		sh.peak = last
	}
}

// sweep looks at up to n of a shard's keys, each in turn, and forgets those
// whose state has lapsed. It returns at how many it looked.
func (s *Store) sweep(sh *shard, now int64, n int) int {
	looks, forgotten := sh.small.sweep(s.seed, &sh.hot, now, n)
	s.count.Add(int64(-forgotten))
	n = min(n, len(sh.all))
	for range n {
		// Downwards, as the last one takes the place of one that is removed.
		if sh.hand == 0 || sh.hand > len(sh.all) {
			sh.hand = len(sh.all)
		}
		sh.hand--
		if e := sh.all[sh.hand]; e.lapse <= now {
			s.remove(sh, e)
		}
	}
	return looks + n
}

// makeRoom counts n more keys in and reports whether there is room for them.
// If there is not, it looks for lapsed ones, but not in shards that are locked:
// whoever holds one may wait for one of this call's.
func (s *Store) makeRoom(n, now int64) bool {
	looks := fullLooks
	for visits := 0; ; {
		count := s.count.Load()
		switch {
		case count+n <= s.most:
			if s.count.CompareAndSwap(count, count+n) {
				return true
			}
			continue
		case visits == shards || looks <= 0:
			return false
		}
		visits++
		if sh := &s.shards[s.next.Add(1)%shards]; sh.mu.TryLock() {
			looks -= s.sweep(sh, now, looks)
			sh.mu.Unlock()
		}
	}
}
