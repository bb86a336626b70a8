// Package httptoken knows the tokens of HTTP: names of headers, schemes and
// parameters.
package httptoken

import "strings"

// Is reports whether s is a token of RFC 9110, section 5.6.2.
func Is(s string) bool { return s != "" && Len(s) == len(s) }

// Len returns the length in bytes of the longest start of s that is a token;
// 0: none.
func Len(s string) int { return span(s, "!#$%&'*+-.^_`|~") }

// Is68 reports whether s is a token68 of RFC 9110, section 11.2. RFC 6750 calls
// it a b64token.
func Is68(s string) bool {
	s = strings.TrimRight(s, "=")
	return s != "" && span(s, "-._~+/") == len(s)
}

// span returns the number of bytes at the start of s that are letters, digits or
// punctuation.
func span(s, punctuation string) int {
	for i := range len(s) {
		if c := s[i]; !isAlphanumeric(c) && strings.IndexByte(punctuation, c) < 0 {
			return i
		}
	}
	return len(s)
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
