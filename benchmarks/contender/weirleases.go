package contender

import (
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/leasestore"
	"github.com/goweir/weir/store/redisstore"
)

// WeirLeases takes units of busy keys ahead, which is off by default. It remembers the
// use of keys for a second.
func WeirLeases() Contender {
	return Contender{
		Name: "weir (leases)", Own: true, Variant: true, Crowd: true, Warm: 2 * time.Second, Paced: true,
		Redis: func(c Cleaner, l Limit, at Servers) (Decide, error) {
			behind, err := redisstore.New(redisstore.Config{Client: at.Client(c), Prefix: "wlea:"})
			if err != nil {
				return nil, err
			}
			store, err := leasestore.New(leasestore.Config{Store: behind})
			if err != nil {
				return nil, err
			}
			c.Cleanup(func() { _ = store.Close() })
			return weirDecide(store, weirLimit(l, weir.GCRA))
		},
	}
}
