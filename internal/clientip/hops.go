package clientip

import (
	"net/netip"
	"strings"
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

// maxHop bounds the text of one address in a header, in bytes.
const maxHop = 1024

// hopReader reads the addresses in a header from the right to the left. An
// element reads the same whatever stands further left: an open quote in the
// client's element does not swallow the proxy's element behind it.
type hopReader struct {
	form  headerForm
	lines []string // not yet begun
	rest  string   // of the line that is being read
	more  bool     // whether there is a rest, which may be empty
}

// next returns the next plain address to the left. It reports false if there is
// none or the element is malformed, and must not be called after that.
func (h *hopReader) next() (netip.Addr, bool) {
	if h.form == oneAddress && len(h.lines) != 1 {
		return netip.Addr{}, false // several lines, or the one line was read
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

// cut takes the last element off the rest of the line. It reports false if the
// element is too long.
func (h *hopReader) cut() (element string, ok bool) {
	near := max(0, len(h.rest)-maxHop-1)
	comma := -1
	switch h.form {
	case addressList:
		comma = strings.LastIndexByte(h.rest[near:], ',')
	case forwarded:
		comma = lastUnquotedComma(h.rest[near:])
	}
	if comma < 0 {
		element, h.more = h.rest, false
		return element, len(element) <= maxHop
	}
	comma += near
	element, h.rest, h.more = h.rest[comma+1:], h.rest[:comma], true
	return element, true
}

// lastUnquotedComma returns the index of the comma before the last element of s,
// or -1. It reads backwards, in which a well-formed element has one reading only:
// its last quote closes a quoted string, and the string goes back to the first
// quote without an odd number of backslashes before it.
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
