package fallback

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/goweir/weir/store"
)

// holder returns the primary as a holder of leases.
func (s *Store) holder() (store.Holder, error) {
	if primary, ok := s.cfg.Primary.(store.Holder); ok {
		return primary, nil
	}
	return nil, store.ErrUnsupported
}

// Release implements [store.Holder]. An error means that the primary may still count the leases.
func (s *Store) Release(ctx context.Context, scope, key string, ids ...string) error {
	primary, err := s.holder()
	if err != nil {
		return err
	}
	_, away := s.breaker.Away()
	if err := s.local.Release(ctx, scope, key, ids...); err != nil || away != nil {
		return cmp.Or(err, away)
	}
	ids = slices.Clone(ids)
	return s.within(ctx, func(ctx context.Context) error { return primary.Release(ctx, scope, key, ids...) })
}

// Renew implements [store.Holder]. lost has the leases that neither store knows.
//
//	primary  local store    outcome
//	knows    any            renewed
//	lacks    knows          taken again from the primary: it lost the lease or never had it
//	lacks    lacks          lost
//	is away  knows          renewed
//	is away  lacks          lost
func (s *Store) Renew(ctx context.Context, scope, key string, lease time.Duration, ids ...string) (lost []string, err error) {
	primary, err := s.holder()
	if err != nil {
		return nil, err
	}
	unknown, err := s.local.Renew(ctx, scope, key, lease, ids...)
	if err != nil {
		return nil, err
	}
	if !s.breaker.Closed() {
		return unknown, nil
	}
	ids = slices.Clone(ids)
	var gone []string
	if err := s.within(ctx, func(ctx context.Context) (err error) {
		gone, err = primary.Renew(ctx, scope, key, lease, ids...)
		return err
	}); err != nil {
		return nil, err
	}
	for _, id := range gone {
		if slices.Contains(unknown, id) {
			lost = append(lost, id)
		} else if err := s.takeAgain(ctx, scope, key, store.Hold{Max: store.MaxUnits, ID: id, Lease: lease}); err != nil {
			return lost, err
		}
	}
	return lost, nil
}

// takeAgain takes a lease of the primary for a call that is in flight already. The number
// of leases does not matter.
func (s *Store) takeAgain(ctx context.Context, scope, key string, h store.Hold) error {
	req := store.Request{Charges: []store.Charge{{Scope: scope, Key: key, Limit: store.Per(store.MaxUnits, time.Second)}}, Hold: h}
	if err := s.try(ctx, &req, s.cfg.patience()); err != nil {
		return err
	}
	// A call that ended meanwhile must not get its lease back.
	if gone, err := s.local.Renew(ctx, scope, key, h.Lease, h.ID); err != nil || len(gone) > 0 {
		return s.Release(ctx, scope, key, h.ID)
	}
	return nil
}

// keep copies a lease from the primary to the local store. Without it, this process would
// get a second share of leases when the primary goes away.
func (s *Store) keep(req *store.Request, d *store.Decision) {
	if d.Allowed && req.Hold.Asked() {
		s.local.Keep(req.Charges[0].Scope, req.Charges[0].Key, req.Hold.ID, req.Hold.Lease)
	}
}
