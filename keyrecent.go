package weir

import (
	"hash/maphash"
	"sync/atomic"
)

// recentKeys remembers the keys of credentials that came more than once, as a
// hash that nobody can compute backwards takes longer than all the rest. It does
// not hold the credentials: it tells them apart by 128 bits under two seeds of the
// process, so that whoever wants two to be taken for one has to know both, and the
// seeds. It is safe for concurrent use.
type recentKeys struct {
	first, second maphash.Seed
	places        [1024]recentPlace
}

// recentPlace holds the key of one of the credentials that share it.
type recentPlace struct {
	is     atomic.Pointer[recentKey]
	missed atomic.Uint64 // the credential that was last looked for in vain
}

type recentKey struct {
	first, second uint64 // of the credential
	key           string
}

func newRecentKeys() *recentKeys {
	return &recentKeys{first: maphash.MakeSeed(), second: maphash.MakeSeed()}
}

// of returns the key of a credential, which is made if it is not remembered. What
// comes once pushes nothing out, and is not kept.
func (r *recentKeys) of(credential string, hash func(credential string) string) string {
	first := maphash.String(r.first, credential)
	p := &r.places[first%uint64(len(r.places))]
	is := p.is.Load()
	if is != nil && is.first == first && is.second == maphash.String(r.second, credential) {
		return is.key
	}
	key := hash(credential)
	if p.missed.Swap(first) == first {
		p.is.Store(&recentKey{first, maphash.String(r.second, credential), key})
	}
	return key
}
