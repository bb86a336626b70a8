package exact

import (
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/store"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// rat is a/b.
func rat(a, b int64) *big.Rat { return big.NewRat(a, b) }

func whole(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func times(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }

func plus(a, b *big.Rat) *big.Rat { return new(big.Rat).Add(a, b) }

func minus(a, b *big.Rat) *big.Rat { return new(big.Rat).Sub(a, b) }

func floor(r *big.Rat) int64 { return new(big.Int).Div(r.Num(), r.Denom()).Int64() }

func ceil(r *big.Rat) int64 { return -floor(new(big.Rat).Neg(r)) }

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 42)) }

// spread returns a number from 1 to most, of any magnitude.
func spread(rng *rand.Rand, most int64) int64 {
	n := int64(1) << rng.IntN(54)
	return 1 + rng.Int64N(min(n, most))
}

// randomLimit returns a valid limit within the bounds, or on them.
func randomLimit(rng *rand.Rand, a store.Algorithm) store.Limit {
	for {
		l := store.Limit{Rate: spread(rng, store.MaxUnits), Period: time.Duration(spread(rng, store.MaxPeriod.Microseconds())) * time.Microsecond, Algorithm: a}
		if rng.IntN(8) == 0 {
			l.Rate = store.MaxUnits
		}
		if rng.IntN(8) == 0 {
			l.Period = store.MaxPeriod
		}
		if a == store.GCRA && rng.IntN(2) == 0 {
			l.Burst = spread(rng, store.MaxUnits)
		}
		if l.Validate() == nil {
			return l
		}
	}
}
