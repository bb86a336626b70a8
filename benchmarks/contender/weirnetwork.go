package contender

import (
	"fmt"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/redisstore"
)

// WeirFallback is weir with a local store behind Redis.
func WeirFallback() Contender {
	return Contender{Name: "weir (fallback)", Own: true, Network: weirResilient}
}

// WeirRoundTrips is weir with another maximum of round trips under way.
func WeirRoundTrips(n int) Contender {
	return Contender{
		Name: fmt.Sprintf("weir (%d round trips)", n), Own: true, Variant: true,
		Network: func(c Cleaner, l Limit, at Servers) (Decide, error) {
			store, err := redisstore.New(redisstore.Config{Client: at.Client(c), RoundTrips: n})
			if err != nil {
				return nil, err
			}
			return weirDecide(store, weirLimit(l, weir.GCRA))
		},
	}
}
