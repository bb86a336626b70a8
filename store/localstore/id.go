package localstore

import (
	"crypto/sha256"

	"github.com/goweir/weir/store"
)

// id is a key in a scope.
type id struct{ scope, key string }

// longestText is the longest key that is kept as it is.
const longestText = 120

// id returns how a key is kept. A long key is kept as a hash that no caller can
// guess, so that no other key can be its equal.
func (s *Store) id(scope, key string) id {
	if len(key) > longestText {
		key = s.digest(key)
	}
	return id{scope, key}
}

func (s *Store) digest(key string) string {
	h := sha256.New()
	h.Write(s.secret[:])
	h.Write([]byte(key))
	return string(h.Sum(nil))
}

func (s *Store) idOf(c *store.Charge) id { return s.id(c.Scope, c.Key) }

// oneKey reports whether all charges are of one key.
func oneKey(charges []store.Charge) bool {
	for i := 1; i < len(charges); i++ {
		if !sameKey(&charges[i], &charges[0]) {
			return false
		}
	}
	return true
}

func sameKey(a, b *store.Charge) bool { return a.Key == b.Key && a.Scope == b.Scope }
