package weirtest

import (
	"context"
	"time"

	"github.com/goweir/weir/store"
)

// allowAll is a store that allows everything and counts nothing. Its brakes and
// leases do nothing.
type allowAll struct{}

func (allowAll) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if err := ctx.Err(); err != nil {
		return store.Decision{}, err
	}
	return grant(req), nil
}

func (allowAll) Cancel(context.Context, any) error                         { return nil }
func (allowAll) Settle(context.Context, any, ...int64) error               { return nil }
func (allowAll) Reset(context.Context, string, string) error               { return nil }
func (allowAll) Brake(context.Context, []store.Charge, store.Brake) error  { return nil }
func (allowAll) Release(context.Context, string, string, ...string) error  { return nil }
func (allowAll) WatchBrakes(func(string, string, store.Clock)) store.Watch { return noBrakes{} }
func (allowAll) Renew(context.Context, string, string, time.Duration, ...string) ([]string, error) {
	return nil, nil
}

// noBrakes watches a store without brakes: it misses none.
type noBrakes struct{}

func (noBrakes) Covers(time.Time) bool { return true }
func (noBrakes) Stop()                 {}
