package exact

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
)

// TestUndoAmongOthers tells random stories of a bucket. Calls of unlike costs book ahead, are
// cancelled in any order, or cost less. The calls that stay never exceed the limit.
func TestUndoAmongOthers(t *testing.T) {
	t.Parallel()
	type booking struct {
		receipt    *Receipt
		slot, cost int64
	}
	for seed := range uint64(long.Of(20_000)) {
		rng := newRand(seed)
		limit := store.Per(1+rng.Int64N(5), time.Duration(1+rng.Int64N(20))*time.Microsecond).WithBurst(1 + rng.Int64N(9))
		var k Key
		var open, all []*booking
		var told []string
		now := int64(1e15)
		settle := func(i int, to int64) {
			b := open[i]
			told = append(told, fmt.Sprintf("%d: booking of %d at %d costs %d", now-1e15, b.cost, b.slot-1e15, to))
			k.Settle(b.receipt, now, func(int) int64 { return to })
			b.cost, open = to, slices.Delete(open, i, i+1)
		}
		for range 40 {
			switch rng.IntN(8) {
			case 0:
				now += rng.Int64N(2 * limit.Period.Microseconds())
			case 1, 2, 3:
				cost := 1 + rng.Int64N(limit.Burst)
				if d, r := take(&k, waiting(cost, time.Hour, limit), now, 1); d.Allowed {
					b := &booking{r, r.Real, cost}
					open, all = append(open, b), append(all, b)
					told = append(told, fmt.Sprintf("%d: %d at %d", now-1e15, cost, b.slot-1e15))
				}
			case 4: // A call that has left costs less.
				if i := slices.IndexFunc(open, func(b *booking) bool { return b.slot <= now }); i >= 0 {
					settle(i, rng.Int64N(open[i].cost+1))
				}
			default:
				if i := len(open) - 1 - rng.IntN(1+rng.IntN(4)); i >= 0 && open[i].slot > now {
					settle(i, 0)
				}
			}
		}
		slices.SortStableFunc(all, func(a, b *booking) int { return cmp.Compare(a.slot, b.slot) })
		tat, period := int64(0), limit.Period.Microseconds()
		for _, b := range all {
			if b.cost == 0 {
				continue
			}
			if tat = max(tat, b.slot*limit.Rate) + b.cost*period; tat-limit.Max()*period > (b.slot+2)*limit.Rate {
				t.Fatalf("seed %d, %v, burst %d: the call at %d is too soon\n%s", seed, limit, limit.Burst, b.slot-1e15, strings.Join(told, "\n"))
			}
		}
	}
}

// TestUndoOfChangedLimits cancels the last call of random stories under several plans. All plans
// then have what they had before it.
func TestUndoOfChangedLimits(t *testing.T) {
	t.Parallel()
	for seed := range uint64(long.Of(20_000)) {
		rng := newRand(seed)
		var plans []store.Limit
		for range 2 + rng.IntN(2) {
			plans = append(plans, store.Per(1+rng.Int64N(6), time.Duration(1+rng.Int64N(60))*time.Second).By(store.Algorithm(rng.IntN(5))))
		}
		var k Key
		now := begun
		remaining := func() (list []int64) {
			for _, l := range plans {
				d, _ := take(&k, charges(0, l), now, 0)
				list = append(list, d.Remaining)
			}
			return list
		}
		for range 1 + rng.IntN(4) {
			now += rng.Int64N(60) * time.Second.Microseconds()
			take(&k, charges(1+rng.Int64N(4), plans[rng.IntN(len(plans))]), now, 1)
		}
		now += rng.Int64N(60) * time.Second.Microseconds()
		before, last := remaining(), plans[rng.IntN(len(plans))]
		d, r := take(&k, charges(1+rng.Int64N(4), last), now, 1)
		if !d.Allowed {
			continue
		}
		k.Settle(r, now, func(int) int64 { return 0 })
		if after := remaining(); !slices.Equal(before, after) {
			t.Fatalf("seed %d, %v: remaining %v before %v, %v after it is undone", seed, plans, before, last, after)
		}
	}
}
