package store

import (
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Bounds of a Limit. Within them every store's arithmetic is exact.
const (
	// MaxUnits is the largest Rate, Burst and cost.
	MaxUnits = 1 << 50
	// MaxPeriod is the longest Period, and the longest time in which a GCRA limit
	// may fill its burst (Burst·Period/Rate).
	MaxPeriod = 50 * 365 * 24 * time.Hour
)

// Limit is a rule: Rate units per Period, counted by Algorithm. It has the
// fields of weir.Limit, so that either converts to the other. It is a plain
// value; two limits with equal fields are the same limit.
type Limit struct {
	// Name is the policy's name in headers, metrics and errors: printable ASCII,
	// at most 64 bytes. Empty: derived from the rule, as "25-in-5s".
	Name string
	// Rate is the number of units per Period: 1 to MaxUnits.
	Rate int64
	// Period is the time for Rate units, or the window's length: whole
	// microseconds from 1µs to MaxPeriod.
	Period time.Duration
	// Burst is the number of units GCRA admits at once: 0 (meaning Rate) to MaxUnits,
	// and refilled within MaxPeriod. It must be 0 for the window algorithms.
	Burst int64
	// Algorithm says how units are counted. The zero value is GCRA.
	Algorithm Algorithm
}

// Per returns the limit of n units per period, counted by GCRA. It checks
// nothing: [Limit.Validate] does.
func Per(n int64, period time.Duration) Limit { return Limit{Rate: n, Period: period} }

// By returns the limit, counted by another algorithm.
func (l Limit) By(a Algorithm) Limit {
	l.Algorithm = a
	return l
}

// WithBurst returns the limit with another burst.
func (l Limit) WithBurst(n int64) Limit {
	l.Burst = n
	return l
}

// WithName returns the limit with another policy name.
func (l Limit) WithName(name string) Limit {
	l.Name = name
	return l
}

// Max returns the maximum number of units that one call can take: the burst of a GCRA
// limit, the rate of a window. A larger cost never fits.
func (l Limit) Max() int64 {
	if l.Algorithm == GCRA && l.Burst > 0 {
		return l.Burst
	}
	return l.Rate
}

// Policy returns Name. If Name is empty, it returns a name derived from the rule: rate,
// "-in-" and the period, as "25-in-5s", "300-in-1m" or "1-in-365d".
func (l Limit) Policy() string {
	if l.Name != "" {
		return l.Name
	}
	return string(l.appendRule(make([]byte, 0, 32))) // Inlined into callers, it seldom allocates.
}

// String returns the policy name.
func (l Limit) String() string { return l.Policy() }

// appendRule appends the name that is derived from the rule.
func (l *Limit) appendRule(b []byte) []byte {
	b = append(strconv.AppendInt(b, l.Rate, 10), "-in-"...)
	return appendDuration(b, l.Period)
}

// appendDuration appends whole days, hours, minutes or seconds with one unit,
// everything else as time.Duration does, in ASCII.
func appendDuration(b []byte, d time.Duration) []byte {
	for _, u := range []struct {
		size   time.Duration
		suffix byte
	}{{24 * time.Hour, 'd'}, {time.Hour, 'h'}, {time.Minute, 'm'}, {time.Second, 's'}} {
		if d >= u.size && d%u.size == 0 {
			return append(strconv.AppendInt(b, int64(d/u.size), 10), u.suffix)
		}
	}
	return append(b, strings.ReplaceAll(d.String(), "µ", "u")...) // headers are ASCII
}

// Validate reports the first field that is out of bounds, as a *[ConfigError].
func (l Limit) Validate() error {
	switch {
	case l.Algorithm >= algorithms:
		return l.invalid("Algorithm", "one of the five algorithms", l.Algorithm.String())
	case l.Rate < 1 || l.Rate > MaxUnits:
		return l.invalid("Rate", "1 to 2^50", strconv.FormatInt(l.Rate, 10))
	case l.Period < time.Microsecond || l.Period > MaxPeriod:
		return l.invalid("Period", "1µs to 50 years", l.Period.String())
	case l.Period%time.Microsecond != 0:
		return l.invalid("Period", "whole microseconds", l.Period.String())
	case l.Algorithm != GCRA && l.Burst != 0:
		return l.invalid("Burst", "0 for a window algorithm", strconv.FormatInt(l.Burst, 10))
	case l.Burst < 0 || l.Burst > MaxUnits:
		return l.invalid("Burst", "0 to 2^50", strconv.FormatInt(l.Burst, 10))
	case l.Algorithm == GCRA && !l.fills():
		return l.invalid("Burst", "Burst·Period/Rate of at most 50 years", strconv.FormatInt(l.Burst, 10))
	}
	return CheckName("Limit.Name", l.Name)
}

// fills reports whether a whole burst is refilled within MaxPeriod.
func (l Limit) fills() bool {
	hi, lo := bits.Mul64(uint64(l.Max()), uint64(l.Period))
	if hi >= uint64(l.Rate) {
		return false
	}
	q, _ := bits.Div64(hi, lo, uint64(l.Rate))
	return q <= uint64(MaxPeriod)
}

func (l Limit) invalid(field, want, got string) error {
	return &ConfigError{Field: "Limit." + field, Want: want, Got: got}
}

// CheckName returns a *[ConfigError] for field unless the name of a limit or limiter has at
// most 64 bytes of printable ASCII.
func CheckName(field, name string) error {
	if len(name) > 64 || strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c > '~' }) {
		return &ConfigError{Field: field, Want: "at most 64 bytes of printable ASCII", Got: strconv.QuoteToASCII(name)}
	}
	return nil
}
