package redisstore

import (
	"sync/atomic"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/script"
)

// knownLimits keeps recent limits as the scripts need them.
type knownLimits struct {
	places [256]atomic.Pointer[script.Limits]
	free   [256]atomic.Bool // see Store.free
}

// place returns the first place of the limits of charges.
func (k *knownLimits) place(charges []store.Charge) uint64 {
	h := uint64(len(charges))
	for i := range charges {
		c := &charges[i]
		for _, n := range [...]int64{c.Limit.Rate, int64(c.Limit.Period), c.Limit.Burst, int64(c.Limit.Algorithm), c.Cost, c.Reserve} {
			h = h*31 + uint64(n)
		}
	}
	return h * 0x9e3779b97f4a7c15 >> 56
}

// of returns the limits of charges of one key. Each has two possible places, so that two
// limits with one place in common do not displace each other.
func (k *knownLimits) of(charges []store.Charge) *script.Limits {
	first := k.place(charges)
	place, other := &k.places[first], &k.places[first^1]
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
