package upstream

import (
	"math"
	"math/bits"
	"time"
)

// longest is the longest time that is believed of an upstream: no budget is
// renewed less often than once a year.
const longest = 366 * 24 * time.Hour

// decimal is a number as headers write it, exactly: 30, 2.0, 1655120997.57.
type decimal struct {
	whole uint64 // math.MaxUint64 when it is that or more
	nanos uint32 // the fraction in billionths, rounded up, at most 999999999
}

// parseDecimal reads digits, with a point and digits after it or without. A
// sign, an exponent, NaN and Inf are no decimals.
func parseDecimal(s string) (decimal, bool) {
	var d decimal
	i := 0
	for ; i < len(s) && isDigit(s[i]); i++ {
		hi, lo := bits.Mul64(d.whole, 10)
		lo, carry := bits.Add64(lo, uint64(s[i]-'0'), 0)
		if hi != 0 || carry != 0 {
			lo = math.MaxUint64 // and stays there: ten times that overflows too
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

// times returns d units, rounded up to the nanosecond and at most longest.
func (d decimal) times(unit time.Duration) time.Duration {
	hi, lo := bits.Mul64(d.whole, uint64(unit))
	if hi != 0 || lo > uint64(longest) {
		return longest
	}
	hi, part := bits.Mul64(uint64(d.nanos), uint64(unit))
	part, rest := bits.Div64(hi, part, uint64(time.Second))
	if rest > 0 {
		part++
	}
	return time.Duration(min(lo+part, uint64(longest)))
}

// count returns the whole units of d, and false when there are too many to be
// true.
func (d decimal) count() (int64, bool) {
	return int64(d.whole), d.whole <= math.MaxInt64
}
