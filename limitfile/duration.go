package limitfile

import (
	"math/big"
	"regexp"
	"strconv"
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

// part is a number and its unit at the start of a period. Longer numbers take long.
var part = regexp.MustCompile(`^([0-9.]{1,30}) *([a-zµμ]+) *`)

// parsePeriod reads a period: one or several numbers with their units, as 5s,
// 1m30s, 1.5 h or 2 days, or a unit alone, as minute.
func parsePeriod(s string) (time.Duration, bool) {
	if unit, ok := units[s]; ok {
		return unit, true
	}
	var sum big.Rat // in microseconds
	for s != "" {
		found := part.FindStringSubmatch(s)
		if found == nil {
			return 0, false
		}
		n, ok := new(big.Rat).SetString(found[1])
		unit := units[found[2]]
		if !ok || unit == 0 {
			return 0, false
		}
		sum.Add(&sum, n.Mul(n, big.NewRat(unit.Microseconds(), 1)))
		s = s[len(found[0]):]
	}
	micros := sum.Num()
	if !sum.IsInt() || !micros.IsInt64() || micros.Int64() > store.MaxPeriod.Microseconds() {
		return 0, false
	}
	return time.Duration(micros.Int64()) * time.Microsecond, micros.Sign() > 0
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
