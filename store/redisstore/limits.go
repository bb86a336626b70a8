package redisstore

import (
	"sync/atomic"

	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/script"
)

// knownLimits keeps recent limits as the scripts need them.
type knownLimits [256]atomic.Pointer[script.Limits]

// of returns the limits of charges of one key. Each has two possible places, so that two
// limits with one place in common do not displace each other.
func (k *knownLimits) of(charges []store.Charge) *script.Limits {
	h := uint64(len(charges))
	for i := range charges {
		c := &charges[i]
		for _, n := range [...]int64{c.Limit.Rate, int64(c.Limit.Period), c.Limit.Burst, int64(c.Limit.Algorithm), c.Cost, c.Reserve} {
			h = h*31 + uint64(n)
		}
	}
	first := h * 0x9e3779b97f4a7c15 >> 56
	place, other := &k[first], &k[first^1]
	l := place.Load()
	if l != nil && l.Are(charges) {
		return l
	}
	if o := other.Load(); o != nil && o.Are(charges) {
		return o
	}
	other.Store(l)
	l = script.LimitsOf(charges)
	place.Store(l)
	return l
}

// keysOf groups the charges of a request by key.
func (s *Store) keysOf(req *store.Request) []script.Key {
	if sameKey(req.Charges) {
		k := s.keyOf(req.Charges, nil)
		k.Seen = seen(req, 0)
		return []script.Key{k}
	}
	var keys []script.Key
	for first := range req.Charges {
		if earlier(req.Charges, first) {
			continue
		}
		var charges []store.Charge
		var places []int
		for i := first; i < len(req.Charges); i++ {
			if c := &req.Charges[i]; c.Key == req.Charges[first].Key && c.Scope == req.Charges[first].Scope {
				charges, places = append(charges, *c), append(places, i)
			}
		}
		k := s.keyOf(charges, places)
		k.Seen = seen(req, first)
		keys = append(keys, k)
	}
	return keys
}

// keyOf returns charges of one key as the scripts need them.
func (s *Store) keyOf(charges []store.Charge, places []int) script.Key {
	c := &charges[0]
	k := script.Key{State: rediskey.State(s.prefix, c.Scope, c.Key), Limits: s.limits.of(charges), Places: places}
	if k.Limits.Logged {
		k.Log = rediskey.Log(k.State)
	}
	if places == nil {
		for i := range charges {
			k.Places = append(k.Places, i)
		}
	}
	return k
}

// earlier reports whether a charge before the i-th has the same key.
func earlier(charges []store.Charge, i int) bool {
	for j := range i {
		if charges[j].Key == charges[i].Key && charges[j].Scope == charges[i].Scope {
			return true
		}
	}
	return false
}

// sameKey reports whether all charges are of one key.
func sameKey(charges []store.Charge) bool {
	for i := range charges[1:] {
		if charges[i+1].Key != charges[0].Key || charges[i+1].Scope != charges[0].Scope {
			return false
		}
	}
	return true
}
