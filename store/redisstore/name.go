package redisstore

import (
	"strings"
	"sync/atomic"

	"github.com/goweir/weir/store"
)

// names is the place's part of what spares keys that are asked for again and again
// that their names in Redis are put together each time: of those that share a
// place, one.
type names struct {
	is atomic.Pointer[named]
	// others is who was asked for last that has no name here, by the upper bits of
	// the hash, and in the lower ones how often that was so in a row.
	others atomic.Uint64
}

// named is a key and what it is called in Redis.
type named struct{ scope, key, state string }

// namedAfter is how often in a row a key is the one that has no name before it
// gets one.
const namedAfter = 8

// state is stateKey of a charge, whose key has a hash.
func (n *names) state(s *Store, c *store.Charge, hash uint64) string {
	if is := n.is.Load(); is != nil && is.key == c.Key && is.scope == c.Scope {
		return is.state
	}
	state := s.stateKey(c.Scope, c.Key)
	switch last := n.others.Load(); {
	case last/namedAfter != hash/namedAfter:
		n.others.Store(hash / namedAfter * namedAfter)
	case last%namedAfter < namedAfter-1:
		n.others.Store(last + 1)
	case len(c.Scope)+len(c.Key) <= longestText:
		// They may be parts of something far longer.
		n.is.Store(&named{strings.Clone(c.Scope), strings.Clone(c.Key), state})
	}
	return state
}
