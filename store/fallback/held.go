package fallback

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/goweir/weir/store"
)

// Keeper is a local store that also holds leases which the primary has granted.
type Keeper interface {
	// Keep holds a lease, however many there are already.
	Keep(scope, key, id string, lease time.Duration)
}

// holders returns both stores as holders of leases.
func (s *Store) holders() (primary, local store.Holder, err error) {
	primary, ok := s.cfg.Primary.(store.Holder)
	local, too := s.cfg.Local.(store.Holder)
	if !ok || !too {
		return nil, nil, store.ErrUnsupported
	}
	return primary, local, nil
}

// Release implements [store.Holder]. An error means that the primary may still count the leases.
func (s *Store) Release(ctx context.Context, scope, key string, ids ...string) error {
	primary, local, err := s.holders()
	if err != nil {
		return err
	}
	_, away := s.breaker.Away()
	if err := local.Release(ctx, scope, key, ids...); err != nil || away != nil {
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
//	is away  lacks          lost; renewed if the local store is no Keeper
func (s *Store) Renew(ctx context.Context, scope, key string, lease time.Duration, ids ...string) (lost []string, err error) {
	primary, local, err := s.holders()
	if err != nil {
		return nil, err
	}
	unknown, err := local.Renew(ctx, scope, key, lease, ids...)
	if err != nil {
		return nil, err
	}
	if !s.breaker.Closed() {
		if _, ok := s.cfg.Local.(Keeper); !ok {
			unknown = nil
		}
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
	if gone, err := s.cfg.Local.(store.Holder).Renew(ctx, scope, key, h.Lease, h.ID); err != nil || len(gone) > 0 {
		return s.Release(ctx, scope, key, h.ID)
	}
	return nil
}

// keep copies a lease from the primary to the local store. Without it, this process would
// get a second share of leases when the primary goes away.
func (s *Store) keep(req *store.Request, d *store.Decision) {
	if k, ok := s.cfg.Local.(Keeper); ok && d.Allowed && req.Hold.Asked() {
		k.Keep(req.Charges[0].Scope, req.Charges[0].Key, req.Hold.ID, req.Hold.Lease)
	}
}
