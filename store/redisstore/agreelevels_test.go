package redisstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/internal/long"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

// TestStoresAgreeOnLevels is TestStoresAgree for requests of several keys, some of
// which are slowed down or booked ahead.
func TestStoresAgreeOnLevels(t *testing.T) {
	t.Parallel()
	_, client := miniClient(t)
	for seed := range uint64(long.Of(60)) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				local, err := localstore.New(localstore.Config{})
				if err != nil {
					t.Fatal(err)
				}
				remote, sleep := newStill(t, client, fmt.Sprintf("levels%d:", seed))
				agreeOnLevels(t, rand.New(rand.NewPCG(seed, 2)), local, remote, func(d time.Duration) {
					time.Sleep(d)
					sleep(d)
				})
			})
		})
	}
}

func agreeOnLevels(t *testing.T, rng *rand.Rand, local *localstore.Store, remote *Store, sleep func(time.Duration)) {
	ctx := context.Background()
	period := time.Duration(1+rng.IntN(20)) * 100 * time.Millisecond
	limits := make([]store.Limit, 3)
	for i := range limits {
		limits[i] = store.Per(1+rng.Int64N(12), period*time.Duration(1+rng.IntN(5))).By(store.Algorithm(rng.IntN(5)))
	}
	var granted []pair
	var last store.Instant
	for step := range 150 {
		req := nested(limits, fmt.Sprint("user ", rng.IntN(2)), "org", "all")
		switch what := rng.IntN(20); {
		case what < 6:
			sleep(time.Duration(rng.Int64N(int64(period)/1000)) * time.Microsecond)
			continue
		case what < 9 && len(granted) > 0:
			p := granted[len(granted)-1]
			granted = granted[:len(granted)-1]
			real := []int64{rng.Int64N(4), rng.Int64N(4), rng.Int64N(4)}
			if what == 6 {
				real = []int64{0} // as Cancel does
			}
			if err := errors.Join(local.Settle(ctx, p.local, real...), remote.Settle(ctx, p.remote, real...)); err != nil {
				t.Fatal(err)
			}
			continue
		case what == 9:
			b, charges := drawBrake(rng, period, last), req.Charges[rng.IntN(3):][:1]
			if err := errors.Join(local.Brake(ctx, charges, b), remote.Brake(ctx, charges, b)); err != nil {
				t.Fatal(err)
			}
			granted = nil
			continue
		}
		for i := range req.Charges {
			req.Charges[i].Cost = rng.Int64N(3)
		}
		if rng.IntN(3) == 0 {
			req.MaxWait = time.Duration(rng.Int64N(int64(3 * period)))
		}
		req.Cancelable = rng.IntN(2) == 0
		a, err := local.Take(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := remote.Take(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		if what := differ(a, b); what != "" {
			t.Fatalf("step %d: %s differs for %+v:\nlocal  %+v\nremote %+v", step, what, req, a, b)
		}
		last = a.At
		if a.Receipt != nil {
			granted = append(granted, pair{a.Receipt, b.Receipt})
		}
	}
}
