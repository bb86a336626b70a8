package weirtest

import (
	"math/big"
	"time"

	"github.com/goweir/weir"
)

// bucketMeter is a token bucket of Limit.Max units, refilled continuously at Rate
// per Period. It keeps the amount missing from a full bucket, in units times
// Period: in this measure every instant's level is a whole number.
type bucketMeter struct {
	limit   weir.Limit
	missing big.Int // at the instant at
	at      int64
}

// units returns n units in the measure of missing.
func (m *bucketMeter) units(n int64) *big.Int {
	return new(big.Int).Mul(big.NewInt(n), big.NewInt(int64(m.limit.Period)))
}

func (m *bucketMeter) refill(at int64) {
	// A nanosecond refills Rate/Period units, which is Rate in this measure.
	added := new(big.Int).Mul(big.NewInt(at-m.at), big.NewInt(m.limit.Rate))
	m.at = at
	if m.missing.Sub(&m.missing, added).Sign() < 0 {
		m.missing.SetInt64(0)
	}
}

// refilled returns how long until amount is refilled, rounded up.
func (m *bucketMeter) refilled(amount *big.Int) time.Duration {
	return time.Duration(divideUp(amount, m.limit.Rate).Int64())
}

func (m *bucketMeter) wait(at, cost int64) time.Duration {
	m.refill(at)
	// The amount to refill first: missing + cost − capacity.
	lacking := m.units(cost - m.limit.Max())
	if lacking.Add(lacking, &m.missing).Sign() <= 0 {
		return 0
	}
	return m.refilled(lacking)
}

func (m *bucketMeter) take(at, cost int64) {
	m.refill(at)
	m.missing.Add(&m.missing, m.units(cost))
}

func (m *bucketMeter) giveBack(at, _, n int64) {
	m.refill(at)
	if m.missing.Sub(&m.missing, m.units(n)).Sign() < 0 {
		m.missing.SetInt64(0)
	}
}

func (m *bucketMeter) remaining(at int64) int64 {
	m.refill(at)
	level := m.units(m.limit.Max())
	if level.Sub(level, &m.missing).Sign() <= 0 {
		return 0
	}
	return level.Quo(level, big.NewInt(int64(m.limit.Period))).Int64()
}

func (m *bucketMeter) reset(at int64) time.Duration {
	m.refill(at)
	return m.refilled(&m.missing)
}

// change keeps the missing units, up to the size of the new bucket.
func (m *bucketMeter) change(at int64, limit weir.Limit) {
	m.refill(at)
	m.missing.Mul(&m.missing, big.NewInt(int64(limit.Period)))
	m.missing.Set(divideUp(&m.missing, int64(m.limit.Period)))
	m.limit = limit
	if empty := m.units(limit.Max()); m.missing.Cmp(empty) > 0 {
		m.missing.Set(empty)
	}
}

// divideUp returns x/y rounded up, for x ≥ 0 and y > 0.
func divideUp(x *big.Int, y int64) *big.Int {
	q, r := new(big.Int).QuoRem(x, big.NewInt(y), new(big.Int))
	if r.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}
