package product_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/goweir/weir/internal/product"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	const most = math.MaxInt64
	for _, test := range []struct {
		name       string
		a, b, c, d int64
		want       int
	}{
		{"less", 2, 3, 1, 7, -1},
		{"equal", 2, 6, 3, 4, 0},
		{"more", 2, 7, 3, 4, 1},
		{"nothing and nothing", 0, most, most, 0, 0},
		{"over 64 bits, less by one", most - 2, most, most - 1, most - 1, -1},
		{"over 64 bits, equal", most, most, most, most, 0},
		{"over 64 bits, more by one", most - 1, most - 1, most, most - 2, 1},
		{"over 64 bits, high bits say", most, 2, most, 5, -1},
	} {
		if got := product.Compare(test.a, test.b, test.c, test.d); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestCompareAsBigInt(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(2, 42))
	n := func() int64 { return rnd.Int64() >> rnd.IntN(64) }
	times := func(a, b int64) *big.Int { return new(big.Int).Mul(big.NewInt(a), big.NewInt(b)) }
	for range 20_000 {
		a, b, c, d := n(), n(), n(), n()
		if got, want := product.Compare(a, b, c, d), times(a, b).Cmp(times(c, d)); got != want {
			t.Fatalf("%d·%d and %d·%d: %d, want %d", a, b, c, d, got, want)
		}
	}
}
