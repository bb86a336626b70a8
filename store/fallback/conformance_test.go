package fallback_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, fallback.Config{Primary: newPrimary(t)}) })
}

// The primary is away from the start, so the local store decides.
func TestConformanceAway(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		p := newPrimary(t)
		p.set(errAway, 0)
		return alone{open(t, fallback.Config{Primary: p, Probe: time.Hour})}
	})
}

// alone is a store that released leases here alone: the caller has to try again.
type alone struct{ *fallback.Store }

func (a alone) Release(ctx context.Context, scope, key string, ids ...string) error {
	if err := a.Store.Release(ctx, scope, key, ids...); !errors.Is(err, errAway) {
		return fmt.Errorf("released while the primary is away: %w, want its error", err)
	}
	return nil
}
