package retry

import "sync/atomic"

const (
	attemptPrice = 100               // hundredths: a request earns its share in percent
	maxSavings   = 10 * attemptPrice // the reserve
)

// budget bounds the further attempts by a share of the requests: at most
// requests × percent / 100 + 10 at any time. It is a token bucket that requests
// fill and further attempts empty.
type budget struct {
	percent int64 // 0: no bound
	savings atomic.Int64
}

// fill sets the share and fills the reserve.
func (b *budget) fill(percent, attempts int) {
	switch {
	case percent == 0:
		b.percent = 10
	case percent/100 < attempts:
		b.percent = int64(percent)
	}
	b.savings.Store(maxSavings)
}

// earn counts a request.
func (b *budget) earn() {
	for {
		have := b.savings.Load()
		if have >= maxSavings || b.savings.CompareAndSwap(have, min(have+b.percent, maxSavings)) {
			return
		}
	}
}

// take pays for a further attempt. It returns false if the budget is used up.
func (b *budget) take() bool {
	for b.percent > 0 {
		have := b.savings.Load()
		if have < attemptPrice {
			return false
		}
		if b.savings.CompareAndSwap(have, have-attemptPrice) {
			return true
		}
	}
	return true
}
