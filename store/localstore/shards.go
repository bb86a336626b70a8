package localstore

import (
	"hash/maphash"
	"math/bits"
	"sync/atomic"
)

const (
	shardCount = 64 // as many as a uint64 has bits
	// newLooks is the number of keys that a call for a new one looks at: more than one,
	// so that lapsed keys are found faster than new ones come.
	newLooks = 4
	// fullLooks is the number if the store is full. It is small, since callers with new keys can
	// make each call look.
	fullLooks = 32
)

// shards are all keys.
type shards struct {
	all    [shardCount]shard
	secret [32]byte // of the hashes of long keys
	max    int64
	count  atomic.Int64  // of keys
	next   atomic.Uint32 // where the search for room goes on
}

// id returns the stored name of a key.
func (s *shards) id(scope, key string) id {
	if len(key) > maxText {
		key = digest(&s.secret, key)
	}
	return id{scope, key}
}

func (s *shards) hash(k *id) uint64 { return hash(maphash.String(seed, k.key), k.scope) }

func (s *shards) index(k id) int { return int(s.hash(&k) % shardCount) }

func (s *shards) shard(k id) *shard { return &s.all[s.index(k)] }

// lockKey locks the shard of a key, and returns it with the stored name of the key.
func (s *shards) lockKey(scope, key string) (sh *shard, k id) {
	k = s.id(scope, key)
	sh = s.shard(k)
	sh.mu.Lock()
	return sh, k
}

// lock locks shards, one for each bit: in order, so that two requests never wait for
// each other.
func (s *shards) lock(bitmap uint64) {
	for ; bitmap != 0; bitmap &= bitmap - 1 {
		s.all[bits.TrailingZeros64(bitmap)].mu.Lock()
	}
}

func (s *shards) unlock(bitmap uint64) {
	for ; bitmap != 0; bitmap &= bitmap - 1 {
		s.all[bits.TrailingZeros64(bitmap)].mu.Unlock()
	}
}

// entry returns the entry of a key, or nil. A small key becomes an entry.
func (s *shards) entry(sh *shard, k id) *entry {
	if e := sh.keys[k]; e != nil {
		return e
	}
	h := s.hash(&k)
	if c, _, _ := sh.small.get(h, &k); c == nil {
		return nil
	}
	e := newEntry(s, k)
	e.key.Parts = sh.small.takeOut(h, &k, e.key.Parts)
	e.setLapse()
	sh.add(e)
	return e
}

// open returns the entry of a key, or a new one. A lapsed one begins anew.
func (s *shards) open(sh *shard, k id, now int64) (e *entry, fresh bool) {
	if e = s.entry(sh, k); e == nil {
		s.sweep(sh, now, newLooks)
		return newEntry(s, k), true
	}
	if e.lapse <= now {
		e.again(now)
	}
	return e, false
}

// keep keeps a new entry if there is room.
func (s *shards) keep(sh *shard, e *entry, now int64) bool {
	if !s.makeRoom(1, now) {
		return false
	}
	sh.add(e)
	return true
}

func (s *shards) remove(sh *shard, e *entry) {
	sh.remove(e)
	s.count.Add(-1)
}

// changed computes when a changed entry lapses, and forgets an entry that has lapsed.
func (s *shards) changed(sh *shard, e *entry, now int64) {
	if e.setLapse(); e.lapse <= now {
		s.remove(sh, e)
	}
}

// classFor returns the class of a key that may become small, and its index; nil if the key
// has an entry, or without a class.
func (s *shards) classFor(sh *shard, a *ask, now int64) (c *class, index int) {
	if e := sh.keys[a.id]; e != nil {
		if e.lapse > now {
			return nil, 0
		}
		s.remove(sh, e)
	}
	s.sweep(sh, now, newLooks)
	if index = sh.small.class(a.scope, a.charges, a.class); index < 0 {
		return nil, 0
	}
	return sh.small.classes[index].of, index
}

func (s *shards) sweep(sh *shard, now int64, n int) (looks int) {
	looks, forgotten := sh.sweep(now, n)
	s.count.Add(int64(-forgotten))
	return looks
}

// makeRoom counts n more keys and reports whether there is room for them. If not, it
// looks for lapsed ones, but not in locked shards: their calls may wait for this one.
func (s *shards) makeRoom(n, now int64) bool {
	looks := fullLooks
	for visits := 0; ; {
		count := s.count.Load()
		switch {
		case count+n <= s.max:
			if s.count.CompareAndSwap(count, count+n) {
				return true
			}
			continue
		case visits == shardCount || looks <= 0:
			return false
		}
		visits++
		if sh := &s.all[s.next.Add(1)%shardCount]; sh.mu.TryLock() {
			looks -= s.sweep(sh, now, looks)
			sh.mu.Unlock()
		}
	}
}
