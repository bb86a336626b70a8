package fallback

import (
	"context"
	"errors"
	"time"

	"github.com/goweir/weir/store"
)

// probeRequest is what a probe asks: a unit of a key of its own, that the
// primary has to write down and that any store can count. Its limit is one that
// no number of processes reaches, as a refusal would be written nowhere.
var probeRequest = store.Request{Charges: []store.Charge{{
	Scope: "weir-probe", Key: "probe", Limit: store.Per(store.MaxUnits, time.Second).By(store.FixedWindow), Cost: 1,
}}}

// probe asks the primary whether it can decide. The key of the call that failed
// last is looked at as well: in a cluster it may live elsewhere than the probe's
// own, and a breaker that closes while a part of the keys has nobody to decide
// on them would open again at once, and so on.
func (s *Store) probe() error {
	// To connect may take a while. A primary that is slower than the budget stays away.
	err := s.try(&probeRequest, maxPatience)
	if err == nil {
		err = s.try(&probeRequest, s.cfg.patience())
	}
	if err != nil {
		return err
	}
	s.deliver()
	failed := s.failed.Load()
	if failed == nil {
		return nil
	}
	if err := s.try(failed, maxPatience); err != nil {
		return err
	}
	s.failed.CompareAndSwap(failed, nil)
	return nil
}

// try asks the primary for a decision that nobody waits for.
func (s *Store) try(req *store.Request, patience time.Duration) error {
	err := within(context.Background(), patience, func(ctx context.Context) error {
		_, err := s.cfg.Primary.Take(ctx, *req)
		return err
	})
	if outage(err) {
		return err
	}
	return nil
}

// outage reports whether an error means that the primary can't decide.
func outage(err error) bool {
	return err != nil && !refused(err) && !ofOneKey(err) && !errors.Is(err, store.ErrLost)
}

// refused reports whether an error is a mistake in the request.
func refused(err error) bool {
	return errors.Is(err, store.ErrConfig) || errors.Is(err, store.ErrUnsupported)
}

func ofOneKey(err error) bool {
	var ke KeyError
	return errors.As(err, &ke) && ke.OfOneKey()
}

// look returns a request that only looks at what another takes of.
func look(req *store.Request) *store.Request {
	peek := store.Request{Charges: append([]store.Charge(nil), req.Charges...)}
	for i := range peek.Charges {
		peek.Charges[i].Cost = 0
	}
	return &peek
}
