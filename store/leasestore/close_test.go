package leasestore_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/leasestore"
)

// silent is a store that stops taking units back.
type silent struct {
	*behind
	away bool
}

func (s *silent) Settle(ctx context.Context, receipt any, costs ...int64) error {
	if s.away {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.behind.Settle(ctx, receipt, costs...)
}

// Close ends soon over a store that does not answer, however many keys are busy, and
// reports the loss. Over a store that answers, Close gives all units back.
func TestCloseOfManyBusyKeys(t *testing.T) {
	t.Parallel()
	for _, away := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := &silent{behind: newBehind(t)}
			s := open(t, leasestore.Config{Store: b})
			l, keys := store.Per(100_000, time.Minute).By(store.FixedWindow), customers(1000)
			for _, key := range keys {
				for range 40 {
					take(t, s, charge(key, 1, l))
				}
			}
			b.away = away
			start := time.Now()
			err := s.Close()
			if took := time.Since(start); took > 3*time.Second || (err != nil) != away {
				t.Errorf("closed after %s: %v", took, err)
			}
			for _, key := range keys {
				if d := take(t, b, charge(key, 0, l)); !away && d.Remaining != 100_000-40 {
					t.Fatalf("%d of %d are left after 40", d.Remaining, l.Rate)
				}
			}
		})
	}
}

// panicking is a store that panics when units come back.
type panicking struct{ *behind }

func (p panicking) Settle(context.Context, any, ...int64) error { panic("settle") }

// Close returns a panic of the store as an error. A panic when a lease ends does not end
// the program either.
func TestCloseOverAStoreThatPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, leasestore.Config{Store: panicking{newBehind(t)}})
		l := store.Per(100_000, time.Minute).By(store.FixedWindow)
		for range 2 {
			for range 40 {
				take(t, s, charge("key", 1, l))
			}
			time.Sleep(10 * time.Second)
		}
		for range 40 {
			take(t, s, charge("key", 1, l))
		}
		if err := s.Close(); err == nil || !strings.Contains(err.Error(), "settle") {
			t.Errorf("closed: %v", err)
		}
	})
}
