package localstore

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

// perSecond is the refill of every bucket.
const perSecond rate.Limit = 1e6

// bucket is a token bucket of golang.org/x/time/rate in which a token is a
// microsecond of a limit's time, not one of its units. A bucket of units would
// have to hold thirds and other fractions that floating point only comes close
// to, and be off by more and more. This one holds whole numbers below 2^53,
// which doubles hold exactly; what rounding the refill adds to them stays below
// half a token for decades, and is rounded away.
type bucket struct {
	limiter rate.Limiter
	size    int64 // tokens it holds when full
	full    int64 // the instant at which it is full, or since when it is, in µs
}

// init makes the bucket one that has always been full, of a size of 2 or more.
func (b *bucket) init(size int64) {
	b.size = min(size, math.MaxInt)
	b.limiter.SetLimitAt(time.Time{}, perSecond)
	b.setFull(0)
}

// setFull makes the bucket one that is full from an instant on: empty as long
// before as it takes to fill.
func (b *bucket) setFull(full int64) {
	at := time.UnixMicro(full - b.size)
	b.limiter.SetBurstAt(at, 0)
	b.limiter.SetBurstAt(at, int(b.size)) // What a bucket of size 0 held is gone.
	b.full = full
}

// take takes tokens, which may be more than the bucket's size, at an instant
// from which on the bucket is used. It may have to borrow from the time after.
func (b *bucket) take(at, tokens int64) {
	full := max(b.full, at)
	// The first instant at which it holds enough, and one to spare: AllowN
	// can't refuse. ReserveN, which would borrow by itself, allocates.
	at = max(at, full+tokens-(b.size-1))
	t := time.UnixMicro(at)
	b.limiter.AllowN(t, int(tokens-max(at-full, 0)))
	b.full = at + b.size - int64(math.Round(b.limiter.TokensAt(t)))
}
