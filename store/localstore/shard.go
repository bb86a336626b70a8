package localstore

import (
	"hash/maphash"
	"sync"
)

const shards = 64

// id is a key in a scope.
type id struct{ scope, key string }

// shard is a part of the keys behind a lock of its own.
type shard struct {
	sync.Mutex
	keys map[id]*entry
	_    [48]byte // a cache line of its own
}

func (s *Store) index(k id) int {
	h := maphash.String(s.seed, k.key)
	if k.scope != "" {
		h ^= maphash.String(s.seed, k.scope) * 3
	}
	return int(h % shards)
}

func (s *Store) shard(k id) *shard { return &s.shards[s.index(k)] }

// open returns the entry of a key, a new one if there is none. Each new key
// pays for looking at a few others, so that lapsed ones do not pile up.
func (sh *shard) open(k id, now int64, most int) (*entry, error) {
	if e := sh.keys[k]; e != nil {
		return e, nil
	}
	sh.drop(now, 4)
	if len(sh.keys) >= most {
		if sh.drop(now, 64); len(sh.keys) >= most {
			return nil, ErrFull
		}
	}
	e := &entry{id: k}
	sh.keys[k] = e
	return e, nil
}

// drop looks at up to n keys, in the random order of maps, and drops those
// whose state has lapsed.
func (sh *shard) drop(now int64, n int) {
	for k, e := range sh.keys {
		if n--; n < 0 {
			return
		}
		if e.lapse <= now {
			delete(sh.keys, k)
		}
	}
}
