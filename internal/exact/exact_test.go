package exact

import (
	"math/big"
	"testing"

	"github.com/goweir/weir/store"
)

func TestMulDiv(t *testing.T) {
	t.Parallel()
	const most = store.MaxUnits
	for name, test := range map[string]struct {
		a, b, c, want int64
		rest          bool
	}{
		"nothing":                  {0, 5, 7, 0, false},
		"even":                     {6, 7, 21, 2, false},
		"rounded down":             {6, 7, 20, 2, true},
		"just under":               {7, 1, 8, 0, true},
		"product over 64 bits":     {most, most, most, most, false},
		"product over 64, rest":    {most - 1, most - 1, most, most - 2, true},
		"a double would round up":  {most - 1, most, most - 1, most, false},
		"a double would lose this": {1<<53 + 1, 3, 3, 1<<53 + 1, false},
	} {
		if q, rest := MulDiv(test.a, test.b, test.c); q != test.want || rest != test.rest {
			t.Errorf("%s: %d, %v, want %d, %v", name, q, rest, test.want, test.rest)
		}
	}
	rng := newRand(1)
	for range 20_000 {
		a, b := spread(rng, 1<<53)-1, spread(rng, 1<<53)-1
		c := spread(rng, 1<<53)
		product := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
		want, mod := new(big.Int).QuoRem(product, big.NewInt(c), new(big.Int))
		if !want.IsInt64() {
			continue
		}
		if q, rest := MulDiv(a, b, c); q != want.Int64() || rest != (mod.Sign() > 0) {
			t.Fatalf("%d·%d/%d = %d, %v, want %v rest %v", a, b, c, q, rest, want, mod)
		}
	}
}
