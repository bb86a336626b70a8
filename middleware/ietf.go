package middleware

import (
	"math/bits"
	"strconv"
	"time"

	"github.com/goweir/weir"
)

// maxInteger is the largest integer that a structured field holds (RFC 9651,
// section 3.3.1).
const maxInteger = 999_999_999_999_999

// appendPolicies appends the RateLimit-Policy field's value, which is the same
// whatever is decided.
func appendPolicies(b []byte, limits []weir.Limit) []byte {
	for i, l := range limits {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = appendString(b, l.Policy())
		b = append(b, ";q="...)
		b = appendInteger(b, l.Max())
		if w := window(l); w >= time.Second {
			b = append(b, ";w="...)
			b = appendInteger(b, seconds(w))
		}
	}
	return b
}

// appendStates appends the RateLimit field's value.
func appendStates(b []byte, limits []weir.Limit, d *weir.Decision) []byte {
	for i := range limits {
		if i > 0 {
			b = append(b, ", "...)
		}
		c := d.Charge(i)
		b = appendString(b, limits[i].Policy())
		b = append(b, ";r="...)
		b = appendInteger(b, c.Remaining)
		b = append(b, ";t="...)
		b = appendInteger(b, seconds(c.ResetAfter))
	}
	return b
}

// window returns the time in which a limit grants Max units again and again.
func window(l weir.Limit) time.Duration {
	hi, lo := bits.Mul64(uint64(l.Max()), uint64(l.Period))
	// A valid limit fills its burst within weir.MaxPeriod: this fits.
	q, rest := bits.Div64(hi, lo, uint64(l.Rate))
	if rest > 0 {
		q++
	}
	return time.Duration(q)
}

// appendString appends printable ASCII as a string of RFC 9651, and of JSON
// too, which escapes the same two characters.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return append(b, '"')
}

func appendInteger(b []byte, n int64) []byte {
	return strconv.AppendInt(b, min(max(0, n), maxInteger), 10)
}
