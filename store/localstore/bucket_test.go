package localstore

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/goweir/weir/store"
)

// TestBucketKeepsWholeMicroseconds compares the bucket with the number that it
// stands for, at sizes and times as far apart as limits allow.
func TestBucketKeepsWholeMicroseconds(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * 3600 * 1_000_000
	for name, test := range map[string]struct {
		size, most, step int64 // of the bucket, of tokens at once, of time
	}{
		"the smallest":             {4, 3, 5},
		"a second":                 {1_000_004, 1_000_000, 700_000},
		"a day, few tokens":        {86_400_000_004, 1000, 2000},
		"a day, many tokens":       {86_400_000_004, 80_000_000_000, 90_000_000_000},
		"50 years, few tokens":     {50*year + 4, 1000, 2000},
		"50 years, a year at once": {50*year + 4, year, year + year/10},
		"far more than it holds":   {100, 1_000_000, 300_000},
		"32 bits":                  {1<<31 - 1, 86_400_000_000, 90_000_000_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(7, uint64(test.size)))
			var b bucket
			b.init(test.size)
			now, full := int64(946684800_000_000), int64(0)
			for i := range 200_000 {
				if now > 250*year {
					now, full = 946684800_000_000, 0
					b.setFull(full)
				}
				now += rng.Int64N(test.step)
				switch rng.IntN(50) {
				case 0:
					full -= rng.Int64N(test.most)
					b.setFull(full)
				case 1:
					now = max(now, full)
				}
				// A limit never books where the bucket is emptier than empty.
				at, n := max(now, full-test.size+4), rng.Int64N(test.most+1)
				b.take(at, n)
				full = max(full, at) + n
				if b.full != full {
					t.Fatalf("take %d: %d tokens at %d: full at %d, want %d", i, n, at, b.full, full)
				}
			}
		})
	}
}

// TestBucketHoldsWhatIsLeft: what the bucket of x/time/rate itself says.
func TestBucketHoldsWhatIsLeft(t *testing.T) {
	t.Parallel()
	g := fresh(&store.Limit{Rate: 3, Period: time.Second}).(*gcra)
	const now = 946684800_000_000
	for i, want := range []float64{1_000_004, 666_671, 333_338, 4} {
		if got := g.bucket.limiter.TokensAt(time.UnixMicro(now)); fmt.Sprintf("%.3f", got) != fmt.Sprintf("%.3f", want) {
			t.Errorf("after %d of 3 units: %.3f tokens, want %.3f", i, got, want)
		}
		g.book(now, now, 1, now, false)
	}
}
