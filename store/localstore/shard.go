package localstore

import (
	"strings"
	"sync"

	"github.com/goweir/weir/internal/exact"
)

// shard is a part of the keys behind a lock of its own.
type shard struct {
	mu    sync.Mutex
	small smalls        // small keys
	keys  map[id]*entry // all other keys
	all   []*entry      // the same entries, in no order; each has its place
	hand  int           // where the search for lapsed entries goes on
	peak  int           // the maximum number of entries since the map was made
	_     [8]byte       // Each shard has its own cache lines.
}

// entry is a key that is not small.
type entry struct {
	id
	of     *shards
	key    exact.Key
	one    [1]exact.Part // room for the common case
	leases *leases       // nil: none
	lapse  int64         // when the whole entry is as if never used
	place  int           // in its shard
}

// newEntry returns a key that was never used. No shard keeps it yet.
func newEntry(of *shards, k id) *entry {
	k.key = strings.Clone(k.key) // The text may be part of a far longer one.
	e := &entry{id: k, of: of}
	e.key.Parts = e.one[:0]
	return e
}

// setLapse computes the time at which the entry lapses.
func (e *entry) setLapse() { e.lapse = max(e.key.Lapse(), e.leases.lapse()) }

// again makes a lapsed entry a new one, for this call.
func (e *entry) again(now int64) {
	e.one[0] = exact.Part{}
	e.key, e.leases, e.lapse = exact.Key{Parts: e.one[:0]}, nil, now+1
}

// hold makes a lease of the key end at an instant.
func (e *entry) hold(id string, end int64) {
	if e.leases == nil {
		e.leases = new(leases)
	}
	e.leases.hold(id, end)
	e.setLapse()
}

// room returns the instant from which one more lease of the key fits; 0: now.
func (e *entry) room(max, now int64) int64 { return e.leases.room(max, now) }

// add keeps a new entry. There must be room for it.
func (sh *shard) add(e *entry) {
	if sh.keys == nil {
		sh.keys = make(map[id]*entry)
	}
	e.place = len(sh.all)
	sh.all = append(sh.all, e)
	sh.keys[e.id] = e
	sh.peak = max(sh.peak, len(sh.all))
}

// remove forgets an entry. Maps never shrink by themselves: after a crowd of keys a new map
// replaces the old one.
func (sh *shard) remove(e *entry) {
	last := len(sh.all) - 1
	sh.all[e.place] = sh.all[last]
	sh.all[e.place].place = e.place
	sh.all[last] = nil
	sh.all = sh.all[:last]
	delete(sh.keys, e.id)
	if sh.peak > 1024 && last < sh.peak/8 {
		sh.all = append(make([]*entry, 0, 2*last), sh.all...)
		sh.keys = make(map[id]*entry, 2*last)
		for _, e := range sh.all {
			sh.keys[e.id] = e
		}
		sh.peak = last
	}
}

// sweep looks at up to n keys, each in turn, and forgets lapsed ones. It returns the
// number of keys that it looked at, and of those that it forgot.
func (sh *shard) sweep(now int64, n int) (looks, forgotten int) {
	looks, forgotten = sh.small.sweep(now, n)
	n = min(n, len(sh.all))
	for range n {
		// Downwards: the last entry takes the place of one that is removed.
		if sh.hand == 0 || sh.hand > len(sh.all) {
			sh.hand = len(sh.all)
		}
		sh.hand--
		if e := sh.all[sh.hand]; e.lapse <= now {
			sh.remove(e)
			forgotten++
		}
	}
	return looks + n, forgotten
}
