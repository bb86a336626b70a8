package limitfile

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/goweir/weir/store"
)

const day = 24 * time.Hour

// units are the names of the lengths of time. A month and a year have none.
var units = map[string]time.Duration{
	"us": time.Microsecond, "µs": time.Microsecond, "μs": time.Microsecond,
	"microsecond": time.Microsecond, "microseconds": time.Microsecond,
	"ms": time.Millisecond, "millisecond": time.Millisecond, "milliseconds": time.Millisecond,
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hrs": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": day, "day": day, "days": day,
	"w": 7 * day, "week": 7 * day, "weeks": 7 * day,
}

// parsePeriod reads a period: one or several numbers with their units, as 5s,
// 1m30s, 1.5 h or 2 days, or a unit alone, as minute.
func parsePeriod(s string) (time.Duration, bool) {
	if unit, ok := units[s]; ok {
		return unit, true
	}
	var sum time.Duration
	for s != "" {
		number, rest := span(s, "0123456789.")
		if len(number) > maxNumber {
			return 0, false
		}
		name, rest := span(strings.TrimLeft(rest, " "), unitLetters)
		part, ok := times(number, units[name])
		if !ok || part > math.MaxInt64-sum {
			return 0, false
		}
		sum, s = sum+part, strings.TrimLeft(rest, " ")
	}
	return sum, sum >= time.Microsecond && sum <= store.MaxPeriod && sum%time.Microsecond == 0
}

// maxNumber bounds the digits of a number, as large ones take long.
const maxNumber = 30

const unitLetters = "abcdefghijklmnopqrstuvwxyzµμ"

// span splits s after the longest beginning made of these characters.
func span(s, of string) (beginning, rest string) {
	rest = strings.TrimLeft(s, of)
	return s[:len(s)-len(rest)], rest
}

// times returns a decimal number of units, when that is a whole number of
// nanoseconds that fits.
func times(number string, unit time.Duration) (time.Duration, bool) {
	n, ok := new(big.Rat).SetString(number)
	if unit == 0 || !ok {
		return 0, false
	}
	n.Mul(n, new(big.Rat).SetInt64(int64(unit)))
	return time.Duration(n.Num().Int64()), n.IsInt() && n.Num().IsInt64()
}

// parseUnits reads a number of units: 1 to store.MaxUnits in decimal, with or
// without _ between digits. Leading zeros are refused: some read them as octal.
func parseUnits(s string) (int64, bool) {
	if s == "" || s[0] < '1' || s[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 0, 64)
	return n, err == nil && n <= store.MaxUnits
}
