package middleware_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

// braked is a store that fails from the first brake on.
type braked struct {
	*localstore.Store
	failed bool
}

func (b *braked) Brake(ctx context.Context, charges []store.Charge, brake store.Brake) error {
	b.failed = true
	return b.Store.Brake(ctx, charges, brake)
}

func (b *braked) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if b.failed {
		return store.Decision{}, context.DeadlineExceeded
	}
	return b.Store.Take(ctx, req)
}

// TestPenaltyRefuses checks that a refused request stays refused if the store fails right
// after the block.
func TestPenaltyRefuses(t *testing.T) {
	t.Parallel()
	for name, levels := range map[string]bool{"one limiter": false, "levels": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &braked{Store: newLocal(t).(*localstore.Store)}
			limiter := func(name string, l weir.Limit) *weir.Limiter {
				limiter, err := weir.New(weir.Config{Name: name, Store: s, Limits: []weir.Limit{l}})
				if err != nil {
					t.Fatal(err)
				}
				return limiter
			}
			cfg := middleware.Config{
				Limiter: httpcases.NewLimiter(t, s, weir.PerHour(1)),
				Penalty: middleware.Penalty{Limiter: limiter("refusals", weir.PerHour(1)), For: time.Minute},
			}
			if levels {
				cfg.Levels = []middleware.Level{{Limiter: limiter("wide", weir.PerDay(9)), Key: weir.KeyStatic("wide")}}
			}
			g := guard(t, cfg)
			if _, ok := g.Check(httptest.NewRecorder(), request(t.Context())); !ok {
				t.Fatal("the first request was refused")
			}
			w := httptest.NewRecorder()
			if _, ok := g.Check(w, request(t.Context())); ok || w.Code != 429 || w.Header().Get("Retry-After") == "" {
				t.Errorf("the second request passes: %t; status %d, Retry-After %q", ok, w.Code, w.Header().Get("Retry-After"))
			}
			if !s.failed {
				t.Error("no block")
			}
		})
	}
}
