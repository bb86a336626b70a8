package exact

import (
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
		slices.SortStableFunc(all, func(a, b *booking) int { return int(a.slot - b.slot) })
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
