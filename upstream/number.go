package upstream

import (
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Bounds on the part of a header that is read.
const (
	maxLines      = 8    // of one name
	maxNames      = 64   // about limits
	maxItems      = 32   // of a list
	maxLineLength = 4096 // bytes; longer lines are ignored
)

// oneLine returns all lines of a header as one; empty if they are too long to read.
func oneLine(values []string) string {
	if line := strings.Join(values, ","); len(line) <= maxLineLength {
		return line
	}
	return ""
}

func first(values []string) string {
	return strings.TrimSpace(strings.Join(values[:min(len(values), 1)], ""))
}

// maxTime bounds all times of an upstream: budgets are renewed at least once a year.
const maxTime = 366 * 24 * time.Hour

// decimal is a header's number, exactly: 30, 2.0, 1655120997.57.
type decimal struct {
	whole uint64 // at most math.MaxUint64
	nanos uint32 // the fraction in billionths, rounded up, at most 999999999
}

// parseDecimal reads digits, with or without a point and further digits. Signs,
// exponents, NaN and Inf are no decimals.
func parseDecimal(s string) (d decimal, ok bool) {
	whole, fraction, dotted := strings.Cut(s, ".")
	if !isDigits(whole) || dotted && !isDigits(fraction) {
		return d, false
	}
	d.whole, _ = strconv.ParseUint(whole, 10, 64) // the maximum if it is larger
	if dotted {
		nanos, _ := strconv.ParseUint((fraction + "00000000")[:9], 10, 32)
		d.nanos = uint32(nanos)
		if len(fraction) > 9 && strings.Trim(fraction[9:], "0") != "" && d.nanos < 999_999_999 {
			d.nanos++
		}
	}
	return d, true
}

func isDigits(s string) bool { return s != "" && strings.TrimLeft(s, "0123456789") == "" }

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
