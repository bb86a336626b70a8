package redisstore

import (
	"github.com/goweir/weir/internal/keys"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/script"
)

// keysOf groups the charges of a request by key.
func (s *Store) keysOf(req *store.Request) (all []script.Key) {
	for first := range req.Charges {
		places := keys.AppendPlaces(nil, req.Charges, first)
		if places == nil {
			continue
		}
		k := s.keyOf(keys.At(req.Charges, places))
		k.Places, k.Seen = places, seen(req, first)
		all = append(all, k)
	}
	return all
}

// keyOf returns charges of one key as the scripts need them.
func (s *Store) keyOf(charges []store.Charge) script.Key {
	limits := s.limits.of(charges)
	return script.Key{State: s.name(charges[0].Scope, charges[0].Key), Limits: limits, Logged: limits.Logged}
}

// seen returns when the caller last saw the key of the i-th charge; 0: never.
func seen(req *store.Request, i int) int64 {
	if req.Seen == nil {
		return 0
	}
	return int64(req.Seen[i].At)
}

// see fills in the caller's Seen of a key's charges.
func see(req *store.Request, k *script.Key, a *script.Answer, now int64) {
	for i, at := range k.Places {
		if req.Seen == nil {
			return
		}
		to := &req.Seen[at]
		a.See(k.Limits, i, now, to)
		if a.Calls > 0 && a.Real > now {
			to.Last = store.Instant(a.Real)
		}
	}
}
