package fallback_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/localstore"
)

// connecting is a primary whose first answer after an outage exceeds the budget.
type connecting struct {
	*localstore.Store
	down, slow atomic.Bool
}

func (c *connecting) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if c.down.Load() {
		return store.Decision{}, errors.New("down")
	}
	if c.slow.CompareAndSwap(true, false) {
		time.Sleep(60 * time.Millisecond)
	}
	return c.Store.Take(ctx, req)
}

// A probe that was late because of connecting is repeated at once, not an interval later.
func TestSlowFirstProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		local, err := localstore.New(localstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		p := &connecting{Store: local}
		p.down.Store(true)
		s := open(t, fallback.Config{Primary: p, Probe: time.Second})
		ask := func() {
			if _, err := s.Take(t.Context(), store.Request{Charges: []store.Charge{{Key: "key", Limit: store.Per(10, time.Second), Cost: 1}}}); err != nil {
				t.Error(err)
			}
		}
		ask()
		if s.State() != fallback.StateOpen {
			t.Fatal("not away")
		}
		p.slow.Store(true)
		p.down.Store(false)
		time.Sleep(time.Second)
		ask() // It starts the probe.
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if s.State() != fallback.StateClosed {
			t.Errorf("%v after a slow answer to the first probe", s.State())
		}
	})
}
