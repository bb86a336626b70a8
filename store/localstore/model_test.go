package localstore_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
)

// model is GCRA of one key in rational numbers of microseconds.
type model struct {
	limit    store.Limit
	interval *big.Rat // T
	capacity *big.Rat // C
	tat      *big.Rat
	last     int64 // the last booked slot, rounded down
}

func newModel(l store.Limit) *model {
	t := big.NewRat(l.Period.Microseconds(), l.Rate)
	return &model{l, t, times(t, l.Max()), new(big.Rat), 0}
}

func times(t *big.Rat, n int64) *big.Rat { return new(big.Rat).Mul(t, new(big.Rat).SetInt64(n)) }

func whole(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func floor(r *big.Rat) int64 { return new(big.Int).Div(r.Num(), r.Denom()).Int64() }

func ceil(r *big.Rat) int64 { return -floor(new(big.Rat).Neg(r)) }

// take returns the instant at which cost units are free, and takes them if that is within
// maxWait.
func (m *model) take(now, cost, maxWait int64) (slot int64, allowed bool) {
	start := max(now, m.last)
	at := new(big.Rat).Add(m.tat, times(m.interval, cost))
	at.Sub(at, m.capacity)
	down, up := start, start
	if floor(at) >= start {
		down, up = floor(at), ceil(at)
	}
	if up-now > maxWait {
		return up, false
	}
	if up > now {
		m.last = down
	}
	if m.tat.Cmp(whole(down)) < 0 {
		m.tat = whole(down)
	}
	m.tat = new(big.Rat).Add(m.tat, times(m.interval, cost))
	return up, true
}

func (m *model) view(now int64) (remaining, reset int64) {
	ahead := new(big.Rat).Sub(m.tat, whole(now))
	if ahead.Sign() < 0 {
		ahead = new(big.Rat)
	}
	left := new(big.Rat).Sub(m.capacity, ahead)
	return max(floor(left.Quo(left, m.interval)), 0), ceil(ahead)
}

// TestGCRAIsExactAtAnyLimit compares every decision with rational numbers, under limits from
// all documented bounds, to the microsecond and the unit.
func TestGCRAIsExactAtAnyLimit(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(11, 12))
	limits := []store.Limit{
		{Rate: store.MaxUnits, Period: store.MaxPeriod}, {Rate: store.MaxUnits, Period: time.Microsecond},
		{Rate: store.MaxUnits, Period: store.MaxPeriod, Burst: 1}, {Rate: store.MaxUnits - 1, Period: store.MaxPeriod - time.Microsecond},
		{Rate: store.MaxUnits - 1, Period: time.Microsecond, Burst: store.MaxUnits}, {Rate: 1, Period: store.MaxPeriod},
		{Rate: 1, Period: time.Microsecond}, {Rate: 1, Period: time.Microsecond, Burst: store.MaxUnits},
		{Rate: 1, Period: time.Microsecond, Burst: store.MaxPeriod.Microseconds()},
	}
	for len(limits) < 300 {
		l := store.Limit{Rate: spread(rng, store.MaxUnits), Period: time.Duration(spread(rng, store.MaxPeriod.Microseconds())) * time.Microsecond}
		if rng.IntN(2) == 0 {
			l.Burst = spread(rng, store.MaxUnits)
		}
		limits = append(limits, l)
	}
	synctest.Test(t, func(t *testing.T) {
		for i, l := range limits {
			if l.Validate() != nil {
				continue
			}
			m, key := newModel(l), fmt.Sprint("key ", i)
			s := open(t)
			start, now := time.Now().UnixMicro(), time.Now().UnixMicro()
			step := max(ceil(m.capacity)/20, 1)
			for range 100 {
				d := rng.Int64N(2 * step)
				if now-start+d > 100*365*24*3600*1e6 {
					break
				}
				s.Advance(time.Duration(d) * time.Microsecond)
				now += d
				req := charge(key, spread(rng, l.Max()), l)
				req.MaxWait = time.Duration(rng.IntN(2)) * time.Duration(step) * time.Microsecond
				req.MaxWait = min(req.MaxWait, store.MaxPeriod/4)
				got := take(t, s, req)
				slot, allowed := m.take(now, req.Charges[0].Cost, req.MaxWait.Microseconds())
				want := store.Decision{Allowed: allowed, Limit: l, At: store.Instant(now)}
				if wait := time.Duration(slot-now) * time.Microsecond; allowed {
					want.Delay, want.Slot = wait, store.Instant(slot)
				} else {
					want.Reason, want.RetryAfter = store.ReasonLimited, wait
				}
				remaining, reset := m.view(now)
				want.Remaining, want.ResetAfter = remaining, time.Duration(reset)*time.Microsecond
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("%+v, cost %d within %v:\ngot  %+v\nwant %+v", l, req.Charges[0].Cost, req.MaxWait, got, want)
				}
			}
		}
	})
}

// spread returns a number from 1 to most, of any magnitude.
func spread(rng *rand.Rand, most int64) int64 {
	n := int64(1) << rng.IntN(51)
	return 1 + rng.Int64N(min(n, most))
}
