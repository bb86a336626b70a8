package fallback

import (
	"context"
	"time"

	"github.com/goweir/weir/store"
)

// probeRequest takes a unit of a key of its own. Any store can count it, and the primary
// has to write it: no number of processes reaches its limit.
var probeRequest = store.Request{Charges: []store.Charge{{
	Scope: "weir-probe", Key: "probe", Limit: store.Per(store.MaxUnits, time.Second).By(store.FixedWindow), Cost: 1,
}}}

// probe asks the primary whether it can decide. It also looks at the keys of the last
// failed call, which may be on another server of a cluster, and restores them. If that server
// were still away, or could only read, a closed breaker would open again at once.
func (s *Store) probe() error {
	// Connecting may take a while. A primary that is slower than the budget stays away.
	for _, patience := range []time.Duration{maxPatience, s.cfg.patience()} {
		if err := outage(s.try(context.Background(), &probeRequest, patience)); err != nil {
			return err
		}
	}
	s.deliver()
	if failed := s.failed.Load(); failed != nil {
		if err := outage(s.look(*failed, maxPatience)); err != nil {
			return err
		}
		s.failed.CompareAndSwap(failed, nil)
	}
	return nil
}
