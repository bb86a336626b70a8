package fallback_test

import (
	"testing"

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
		return open(t, fallback.Config{Primary: p})
	})
}
