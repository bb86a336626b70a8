package upstream

import (
	"math"
	"math/bits"
	"time"
)

// maxTime bounds all times of an upstream: budgets are renewed at least once a year.
const maxTime = 366 * 24 * time.Hour

// decimal is a header's number, exactly: 30, 2.0, 1655120997.57.
type decimal struct {
	whole uint64 // at most math.MaxUint64
	nanos uint32 // the fraction in billionths, rounded up, at most 999999999
}

// parseDecimal reads digits, with or without a point and further digits. Signs,
// exponents, NaN and Inf are no decimals.
func parseDecimal(s string) (decimal, bool) {
	var d decimal
	i := 0
	for ; i < len(s) && isDigit(s[i]); i++ {
		hi, lo := bits.Mul64(d.whole, 10)
		lo, carry := bits.Add64(lo, uint64(s[i]-'0'), 0)
		if hi != 0 || carry != 0 {
			lo = math.MaxUint64 // and stays there: the next digit overflows too
		}
		d.whole = lo
	}
	if i == 0 {
		return decimal{}, false
	}
	if i == len(s) {
		return d, true
	}
	if s[i] != '.' || i+1 == len(s) {
		return decimal{}, false
	}
	scale := uint32(100_000_000)
	more := false
	for _, c := range []byte(s[i+1:]) {
		if !isDigit(c) {
			return decimal{}, false
		}
		d.nanos += uint32(c-'0') * scale
		more = more || scale == 0 && c != '0'
		scale /= 10
	}
	if more && d.nanos < 999_999_999 {
		d.nanos++
	}
	return d, true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// times returns d units, rounded up to the nanosecond and at most maxTime.
func (d decimal) times(unit time.Duration) time.Duration {
	hi, lo := bits.Mul64(d.whole, uint64(unit))
	if hi != 0 || lo > uint64(maxTime) {
		return maxTime
	}
	hi, part := bits.Mul64(uint64(d.nanos), uint64(unit))
	part, rest := bits.Div64(hi, part, uint64(time.Second))
	if rest > 0 {
		part++
	}
	return time.Duration(min(lo+part, uint64(maxTime)))
}

// count returns the whole units of d, and false above math.MaxInt64.
func (d decimal) count() (int64, bool) {
	return int64(d.whole), d.whole <= math.MaxInt64
}
