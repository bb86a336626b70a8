package clientip

import (
	"strings"

	"github.com/goweir/weir/internal/httptoken"
)

// forwardedFor returns the value of the parameter for in an element of
// Forwarded. It reports false if there is none, or the element is malformed.
// Beyond RFC 7239, section 4, it takes spaces around semicolons, and ports and
// IPv6 addresses without quotes.
func forwardedFor(element string) (node string, found bool) {
	rest := element
	for {
		rest = trimSpace(rest)
		if n := httptoken.Len(rest); n > 0 {
			name, value, ok := rest[:n], "", false
			if rest = rest[n:]; !strings.HasPrefix(rest, "=") {
				return "", false
			}
			if value, rest, ok = parameterValue(rest[1:]); !ok {
				return "", false
			}
			if strings.EqualFold(name, "for") {
				if found {
					return "", false
				}
				node, found = value, true
			}
			rest = trimSpace(rest)
		}
		if rest == "" {
			return node, found
		}
		if rest[0] != ';' {
			return "", false
		}
		rest = rest[1:]
	}
}

// parameterValue returns the token or quoted string at the start of s, and the
// rest of s.
func parameterValue(s string) (value, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		n := 0
		for n < len(s) && (httptoken.Len(s[n:n+1]) == 1 || strings.IndexByte(":[]", s[n]) >= 0) {
			n++
		}
		return s[:n], s[n:], n > 0
	}
	var unescaped []byte
	from := 1
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			if unescaped == nil {
				return s[from:i], s[i+1:], true
			}
			return string(append(unescaped, s[from:i]...)), s[i+1:], true
		case '\\':
			unescaped = append(unescaped, s[from:i]...)
			i++
			from = i
		}
	}
	return "", "", false
}

// trimSpace removes spaces and tabs around s, the OWS of RFC 9110.
func trimSpace(s string) string { return strings.Trim(s, " \t") }
