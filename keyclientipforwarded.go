package weir

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/goweir/weir/internal/httptoken"
)

// headerForm is how a header states addresses.
type headerForm uint8

const (
	oneAddress  headerForm = iota // one address, on one line
	addressList                   // addresses between commas, as in X-Forwarded-For
	forwarded                     // elements of RFC 7239
)

// formOf returns the form of a header by its canonical name.
func formOf(name string) headerForm {
	switch name {
	case "X-Forwarded-For":
		return addressList
	case "Forwarded":
		return forwarded
	}
	return oneAddress
}

// longestHop is how much of a header is looked at for one address, in bytes.
const longestHop = 1024

// hopReader reads the addresses in a header from the right to the left. What it
// reads depends on nothing further left, so that a proxy's own element, at the
// right of what it was sent, reads the same whatever that is: an open quote in
// what the client sent does not swallow it.
type hopReader struct {
	form  headerForm
	lines []string // not yet begun
	rest  string   // of the line that is being read
	more  bool     // whether there is a rest, which may be empty
}

// next returns the next plain address to the left. It reports false when there
// is none or it can't be understood, and must not be called after that.
func (h *hopReader) next() (netip.Addr, bool) {
	if h.form == oneAddress && len(h.lines) != 1 {
		return netip.Addr{}, false // several, or the one that was read
	}
	if !h.more {
		last := len(h.lines) - 1
		if last < 0 {
			return netip.Addr{}, false
		}
		h.lines, h.rest = h.lines[:last], h.lines[last]
	}
	element, ok := h.cut()
	element = trimSpace(element)
	if ok && h.form == forwarded {
		element, ok = forwardedFor(element)
	}
	if !ok {
		return netip.Addr{}, false
	}
	return parseHop(element)
}

// cut takes the last element off the rest of the line. It reports false when
// that is too long.
func (h *hopReader) cut() (element string, ok bool) {
	near := max(0, len(h.rest)-longestHop-1)
	comma := -1
	switch h.form {
	case addressList:
		comma = strings.LastIndexByte(h.rest[near:], ',')
	case forwarded:
		comma = lastUnquotedComma(h.rest[near:])
	}
	if comma < 0 {
		element, h.more = h.rest, false
		return element, len(element) <= longestHop
	}
	comma += near
	element, h.rest, h.more = h.rest[comma+1:], h.rest[:comma], true
	return element, true
}

// lastUnquotedComma returns where the element at the end of s begins after a
// comma, or -1. It reads backwards, in which a well-formed element has one
// reading only: the last quote before its end closes a quoted string, which
// goes back to the first quote without an odd number of backslashes before it.
func lastUnquotedComma(s string) int {
	quoted := false
	for i := len(s) - 1; i >= 0; i-- {
		switch {
		case s[i] == ',' && !quoted:
			return i
		case s[i] == '"':
			before := strings.TrimRight(s[:i], `\`)
			quoted = !quoted || (i-len(before))%2 == 1
		}
	}
	return -1
}

// forwardedFor returns the value of the parameter for in an element of
// Forwarded. It reports false when there is none, or the element is malformed.
// More is taken than RFC 7239, section 4, has: spaces around semicolons, and
// ports and IPv6 addresses without quotes.
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

// parameterValue returns the token or quoted string that s begins with, and
// what follows it.
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

// parseHop returns the plain address of an IPv4 or IPv6 address with or without
// port, zone and, for IPv6, brackets. It reports false for anything else, as
// "unknown" or an obfuscated identifier.
func parseHop(s string) (netip.Addr, bool) {
	host, port := s, ""
	bracketed := strings.HasPrefix(s, "[")
	if bracketed {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return netip.Addr{}, false
		}
		host, port = s[1:end], s[end+1:]
	} else if i := strings.IndexByte(s, ':'); i >= 0 && i == strings.LastIndexByte(s, ':') {
		host, port = s[:i], s[i:]
	}
	if port != "" && !isPort(port) {
		return netip.Addr{}, false
	}
	// The zone goes first, because netip would keep each in a table.
	host, zone, zoned := strings.Cut(host, "%")
	addr, err := netip.ParseAddr(host)
	if err != nil || addr.Is4() && (bracketed || zoned) || zoned && zone == "" {
		return netip.Addr{}, false
	}
	return plainAddr(addr), true
}

// isPort reports whether s is a colon and a port, or an obfuscated port of RFC
// 7239, section 6.3.
func isPort(s string) bool {
	if s[0] != ':' {
		return false
	}
	if s = s[1:]; strings.HasPrefix(s, "_") {
		return httptoken.Is(s[1:])
	}
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil && len(s) <= 5
}

// trimSpace removes spaces and tabs around s, which is RFC 9110's OWS.
func trimSpace(s string) string { return strings.Trim(s, " \t") }
