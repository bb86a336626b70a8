// Package memory remembers states of keys while the primary store is away, or may lose
// them: its last answers, and units that this process has admitted by itself since.
package memory

import (
	"crypto/sha256"
	"hash/maphash"
	"strings"
	"sync"

	"github.com/goweir/weir/internal/keys"
	"github.com/goweir/weir/store"
)

// Memory has an entry for each key of this process. An entry takes about 110 bytes, with
// one limit and a key of 12 bytes. Instants are by the primary's clock, in microseconds.
type Memory struct {
	shards [64]shard
	most   int // maximum of entries in a shard
	limits known
}

type shard struct {
	mu      sync.Mutex
	entries map[uint64]*entry
	_       [40]byte // Each shard fills a cache line.
}

const (
	maxText  = 120 // the maximum length of a key that is kept as it is
	newLooks = 4   // entries that a new key looks at, to drop lapsed ones
)

// seed is that of all memories.
var seed = maphash.MakeSeed()

// Open makes room for a maximum number of keys. The zero Memory has none.
func (t *Memory) Open(maxKeys int) { t.most = max(maxKeys/len(t.shards), 1) }

// lock locks the shard of a key, and returns it with the key's hash and its entry, if any.
func (t *Memory) lock(scope, key string) (sh *shard, hash uint64, e *entry) {
	hash = maphash.String(seed, key) ^ 3*maphash.String(seed, scope)
	sh = &t.shards[hash%64]
	sh.mu.Lock()
	e = sh.entries[hash]
	if e != nil && (e.limits.scope != scope || e.key != key && (len(key) <= maxText || e.key != text(key))) {
		e = nil
	}
	return sh, hash, e
}

// with calls f with the entry of a key, if it has one.
func (t *Memory) with(key keys.Key, f func(*entry)) {
	sh, _, e := t.lock(key.Scope, key.Key)
	defer sh.mu.Unlock()
	if e != nil {
		f(e)
	}
}

// text returns the stored form of a key: of a long key a hash.
func text(key string) string {
	if len(key) <= maxText {
		return strings.Clone(key) // key may be part of a far longer string.
	}
	sum := sha256.Sum256([]byte(key))
	return "\x00" + string(sum[:])
}

// hashed reports whether a stored text is the hash of a long key.
func hashed(text string) bool { return len(text) == 1+sha256.Size && text[0] == 0 }

// change calls f with the entry of the charges' key, and their limits. It keeps a new entry
// if there is anything to remember, and room.
func (t *Memory) change(charges []store.Charge, now int64, f func(*entry, *limits)) {
	sh, hash, e := t.lock(charges[0].Scope, charges[0].Key)
	defer sh.mu.Unlock()
	fresh := e == nil
	if fresh {
		if sh.dropIdle(now); len(sh.entries) >= t.most {
			return
		}
		e = &entry{more: &none}
	}
	l := e.limits
	if l == nil || !l.are(charges) {
		l = t.limits.of(charges)
	}
	if fresh {
		e.be(l)
	}
	if f(e, l); fresh && !e.idle(now) {
		if sh.entries == nil {
			sh.entries = make(map[uint64]*entry)
		}
		e.key = text(charges[0].Key)
		sh.entries[hash] = e
	}
}

// dropIdle drops some entries with nothing left to remember.
func (sh *shard) dropIdle(now int64) {
	looks := newLooks
	for hash, e := range sh.entries {
		if looks--; looks < 0 {
			return
		}
		if e.idle(now) {
			delete(sh.entries, hash)
		}
	}
}
