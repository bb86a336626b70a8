package answer

import (
	"strconv"
	"strings"
	"time"
)

// maxInteger is the largest integer that a structured field holds (RFC 9651,
// section 3.3.1).
const maxInteger = 999_999_999_999_999

func appendInteger(b []byte, n int64) []byte {
	return strconv.AppendInt(b, min(max(0, n), maxInteger), 10)
}

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
