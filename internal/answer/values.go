package answer

import (
	"math/bits"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/goweir/weir"
)

// The fields' names in the form that http.Header stores.
const (
	headerPolicy = "Ratelimit-Policy"
	headerState  = "Ratelimit"
)

// Values holds the first few header values of a response, so that setting a
// header does not allocate.
type Values struct {
	list [4]string
	used int
}

// Set replaces a header. The name must be in the form that http.Header stores.
func (v *Values) Set(h http.Header, name, value string) {
	if v.used == len(v.list) {
		h[name] = []string{value}
		return
	}
	i := v.used
	v.used++
	v.list[i] = value
	// Without room to spare, so that a handler's Add never writes into the next value.
	h[name] = v.list[i : i+1 : i+1]
}

func (v *Values) add(h http.Header, name, value string) {
	if len(h) > 0 && len(h[name]) > 0 {
		h[name] = append(h[name], value)
		return
	}
	v.Set(h, name, value)
}

// maxInteger is the largest integer that a structured field holds (RFC 9651, section 3.3.1).
const maxInteger = 999_999_999_999_999

func appendInteger(b []byte, n int64) []byte {
	return strconv.AppendInt(b, min(max(0, n), maxInteger), 10)
}

func appendParam(b []byte, name string, n int64) []byte { return appendInteger(append(b, name...), n) }

// appendComma separates the next member of a list from those before.
func appendComma(b []byte) []byte { return append(b, ", "[:2*min(len(b), 1)]...) }

// appendString appends printable ASCII as a string of RFC 9651, and of JSON
// too, which escapes the same two characters.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	if strings.IndexByte(s, '"') < 0 && strings.IndexByte(s, '\\') < 0 {
		return append(append(b, s...), '"')
	}
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return append(b, '"')
}

// seconds rounds up, so that the time has come after that many seconds.
func seconds(d time.Duration) int64 {
	s := int64(d / time.Second)
	if d%time.Second > 0 {
		s++
	}
	return max(0, s)
}

// window returns the time in which a limit grants Max units again and again.
func window(l *weir.Limit) time.Duration {
	_, up := span(l, l.Max())
	return up
}

// span returns the time in which a limit grants up to Max units, rounded down and up.
func span(l *weir.Limit, units int64) (down, up time.Duration) {
	hi, lo := bits.Mul64(uint64(units), uint64(l.Period))
	// A valid limit fills its burst within store.MaxPeriod: this fits.
	q, rest := bits.Div64(hi, lo, uint64(l.Rate))
	return time.Duration(q), time.Duration(q + min(rest, 1))
}
