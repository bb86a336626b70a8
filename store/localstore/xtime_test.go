package localstore_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/goweir/weir/store"
)

// TestDecidesAsXTimeRate compares GCRA with the token bucket of golang.org/x/time/rate,
// at rates and instants that floating point holds exactly.
func TestDecidesAsXTimeRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(50) {
			rng := rand.New(rand.NewPCG(seed, 4))
			perSecond, burst := 1<<rng.IntN(7), 1+rng.IntN(20)
			unit := time.Second / time.Duration(perSecond)
			s, bucket := open(t), rate.NewLimiter(rate.Limit(perSecond), burst)
			l := store.Per(int64(perSecond), time.Second).WithBurst(int64(burst))
			for i := range 500 {
				time.Sleep(unit * time.Duration(rng.IntN(3)))
				n := 1 + rng.IntN(burst)
				req := charge("key", int64(n), l)
				if rng.IntN(4) > 0 {
					if got, want := take(t, s, req).Allowed, bucket.AllowN(time.Now(), n); got != want {
						t.Fatalf("seed %d, call %d of %d under %v, burst %d: allowed: %t, want %t", seed, i, n, l, burst, got, want)
					}
					continue
				}
				req.MaxWait = time.Hour
				now := time.Now()
				if got, want := take(t, s, req).Delay, bucket.ReserveN(now, n).DelayFrom(now); got != want {
					t.Fatalf("seed %d, call %d of %d under %v, burst %d: delay %v, want %v", seed, i, n, l, burst, got, want)
				}
			}
		}
	})
}
