package storetest_test

import (
	"context"
	"time"

	"github.com/goweir/weir/store"
)

// inFlightMistakes are about leases.
var inFlightMistakes = []mistake{
	{"a hold is ignored", "calls in flight", before(func(req *store.Request) { req.Hold = store.Hold{} })},
	{"one lease too many", "calls in flight", before(func(req *store.Request) {
		if req.Hold.Asked() {
			req.Hold.Max++
		}
	})},
	{"leases of all keys are counted together", "calls in flight", before(func(req *store.Request) {
		if req.Hold.Asked() {
			req.Charges[0].Key = "one for all"
		}
	})},
	{"a release does nothing", "calls in flight", func(s *model) store.Store {
		return &misheld{model: s, release: func(context.Context, string, string, ...string) error { return nil }}
	}},
	{"refused in flight, the units are charged", "calls in flight and limits, all or nothing", taking(func(s *model) take {
		return func(ctx context.Context, req store.Request) (store.Decision, error) {
			d, err := s.Take(ctx, req)
			if d.Reason == store.ReasonInFlight {
				req.Hold, req.MaxWait, req.Cancelable = store.Hold{}, 0, false
				_, _ = s.Take(ctx, req)
			}
			return d, err
		}
	})},
	{"refused by a limit, a lease is taken", "calls in flight and limits, all or nothing", taking(func(s *model) take {
		return func(ctx context.Context, req store.Request) (store.Decision, error) {
			d, err := s.Take(ctx, req)
			if d.Reason == store.ReasonLimited && req.Hold.Asked() {
				s.Keep(req.Charges[0].Scope, req.Charges[0].Key, req.Hold.ID, req.Hold.Lease)
			}
			return d, err
		}
	})},
	{"a cancel releases the lease", "calls in flight and limits, all or nothing", func(s *model) store.Store {
		return &spoiled{model: s, cancel: func(ctx context.Context, receipt any) error {
			_ = s.Release(ctx, "", store.FixedWindow.String(), "g")
			return s.Cancel(ctx, receipt)
		}}
	}},
	{"leases last a microsecond longer", "leases end and are renewed", before(func(req *store.Request) {
		if req.Hold.Asked() {
			req.Hold.Lease += time.Microsecond
		}
	})},
	{"a renewal does nothing", "leases end and are renewed", func(s *model) store.Store {
		return &misheld{model: s, renew: func(context.Context, string, string, time.Duration, ...string) ([]string, error) { return nil, nil }}
	}},
	{"a renewal brings ended leases back", "leases end and are renewed", func(s *model) store.Store {
		return &misheld{model: s, renew: func(ctx context.Context, scope, key string, lease time.Duration, ids ...string) ([]string, error) {
			lost, err := s.Renew(ctx, scope, key, lease, ids...)
			for _, id := range lost {
				s.Keep(scope, key, id, lease)
			}
			return lost, err
		}}
	}},
	{"RetryAfter is the longest lease's", "leases and changes", after(func(req store.Request, d *store.Decision) {
		if d.Reason == store.ReasonInFlight {
			d.RetryAfter = req.Hold.Lease
		}
	})},
	{"any hold will do", "leases and changes", taking(func(s *model) take {
		return func(ctx context.Context, req store.Request) (store.Decision, error) {
			if req.Hold.Validate() != nil {
				req.Hold = store.Hold{}
			}
			return s.Take(ctx, req)
		}
	})},
	{"a renewal renews all", "leases at random", func(s *model) store.Store {
		return &misheld{model: s, renew: func(ctx context.Context, scope, key string, lease time.Duration, ids ...string) ([]string, error) {
			lost, err := s.Renew(ctx, scope, key, lease, ids...)
			_, _ = s.Renew(ctx, scope, key, lease, "0", "1", "2", "3", "4", "5")
			return lost, err
		}}
	}},
}

// misheld replaces Release or Renew.
type misheld struct {
	*model
	release func(ctx context.Context, scope, key string, ids ...string) error
	renew   func(ctx context.Context, scope, key string, lease time.Duration, ids ...string) ([]string, error)
}

func (s *misheld) Release(ctx context.Context, scope, key string, ids ...string) error {
	if s.release == nil {
		return s.model.Release(ctx, scope, key, ids...)
	}
	return s.release(ctx, scope, key, ids...)
}

func (s *misheld) Renew(ctx context.Context, scope, key string, lease time.Duration, ids ...string) ([]string, error) {
	if s.renew == nil {
		return s.model.Renew(ctx, scope, key, lease, ids...)
	}
	return s.renew(ctx, scope, key, lease, ids...)
}
