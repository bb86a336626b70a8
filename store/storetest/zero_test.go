package storetest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/leasestore"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/store/plainstore"
	"github.com/goweir/weir/store/redisstore"
	"github.com/goweir/weir/weirtest"
)

// TestZeroStores: stores that New has not made decide nothing, and no method panics.
func TestZeroStores(t *testing.T) {
	ctx, limit := context.Background(), store.Per(5, time.Second)
	req := store.Request{Charges: []store.Charge{{Scope: "s", Key: "k", Limit: limit, Cost: 1}}}
	memory := store.Memory{Scope: "s", Key: "k", Limits: []store.Limit{limit}, At: 1, Known: []store.Used{{At: 1, Units: 1}}}
	for _, s := range []store.Store{&fallback.Store{}, &leasestore.Store{}, &localstore.Store{}, &plainstore.Store{}, &redisstore.Store{}, &weirtest.Store{}} {
		try := func(method string, f func() error) {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("%s of a zero %T panics: %v", method, s, r)
				}
			}()
			if err := f(); err == nil && strings.HasPrefix(method, "Take") {
				t.Errorf("%s of a zero %T returns no error", method, s)
			}
		}
		try("Take", func() error { _, err := s.Take(ctx, req); return err })
		booking := req
		booking.Cancelable, booking.MaxWait = true, time.Second
		try("Take with a receipt", func() error { _, err := s.Take(ctx, booking); return err })
		holding := req
		holding.Hold = store.Hold{Max: 1, ID: "id", Lease: time.Second}
		try("Take with a lease", func() error { _, err := s.Take(ctx, holding); return err })
		if s, ok := s.(store.Canceler); ok {
			try("Cancel", func() error { return s.Cancel(ctx, "a receipt") })
		}
		if s, ok := s.(store.Settler); ok {
			try("Settle", func() error { return s.Settle(ctx, "a receipt", 1) })
		}
		if s, ok := s.(store.Resetter); ok {
			try("Reset", func() error { return s.Reset(ctx, "s", "k") })
		}
		if s, ok := s.(store.Braker); ok {
			try("Brake", func() error { return s.Brake(ctx, req.Charges, store.Brake{Pause: time.Second}) })
			try("WatchBrakes", func() error { s.WatchBrakes(func(string, string, store.Clock) {}).Stop(); return nil })
		}
		if s, ok := s.(store.Holder); ok {
			try("Release", func() error { return s.Release(ctx, "s", "k", "id") })
			try("Renew", func() error { _, err := s.Renew(ctx, "s", "k", time.Second, "id"); return err })
		}
		if s, ok := s.(store.Restorer); ok {
			try("Restore", func() error { _, err := s.Restore(ctx, memory); return err })
		}
		if z, ok := s.(store.Preparer); ok {
			try("Prepare", func() error {
				if p := z.Prepare(s, "s", limit); p != nil {
					_, _, err := p.Take("k", 1)
					return err
				}
				return nil
			})
		}
		if z, ok := s.(store.Starter); ok {
			try("Start", func() error {
				if st := z.Start(ctx, s, &req); st != nil {
					<-st.Done()
					_, _, err := st.Decision()
					return err
				}
				return nil
			})
		}
		if s, ok := s.(*localstore.Store); ok {
			try("Seed", func() error { s.Seed(memory); return nil })
			try("Keep", func() error { s.Keep("s", "k", "id", time.Second); return nil })
		}
		if s, ok := s.(*redisstore.Store); ok {
			try("Check", func() error {
				if len(s.Check(ctx)) == 0 {
					t.Error("Check of a zero redisstore.Store finds nothing")
				}
				return nil
			})
		}
		if s, ok := s.(interface{ Close() error }); ok {
			try("Close", func() error { _ = s.Close(); return nil })
		}
	}
}
