// Package rediskey names the keys of weir in Redis.
//
//	prefix{scope:key}         the state of a weir key
//	prefix{scope:key}:log     its exact windows
//	prefix{scope:key}:held    its calls in flight
//	prefix{scope:key}:r<id>   a mark that units were restored
//	prefix{scope:key}:0 … :7  its counters in package plainstore
//
// The part in braces is the hash tag, so all names of a weir key live in one slot of
// a cluster. Text of users can't end the tag. Different weir keys never share a
// name. Scope and key become a hash if they have over 120 bytes, or over 240 escaped.
package rediskey

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/goweir/weir/store"
)

const (
	// maxText is the length of the longest text that stays readable.
	maxText = 120
	// maxPrefix is the length of the longest prefix.
	maxPrefix = 64
)

// Prefix returns the prefix of a configuration, "weir:" if it is empty. A prefix
// longer than 64 bytes, or with anything but printable ASCII without braces, is a
// *store.ConfigError for field.
func Prefix(field, prefix string) (string, error) {
	if prefix == "" {
		return "weir:", nil
	}
	if len(prefix) > maxPrefix || strings.ContainsFunc(prefix, func(r rune) bool { return r < ' ' || r > '~' || r == '{' || r == '}' }) {
		return "", &store.ConfigError{Field: field, Want: "at most 64 bytes of printable ASCII without braces", Got: strconv.QuoteToASCII(prefix)}
	}
	return prefix, nil
}

// State returns the name of the state of a weir key. The other functions take this
// name. It allocates once, unless something has to be escaped or hashed.
func State(prefix, scope, key string) string {
	if len(scope)+len(key) <= maxText {
		s, k := escape(scope, true), escape(key, false)
		if len(s)+len(":")+len(k) <= 2*maxText {
			return prefix + "{" + s + ":" + k + "}"
		}
	}
	// No escaped text starts with '#'.
	return prefix + "{#" + hash(scope, key) + "}"
}

// Log returns the name of the list of exact windows.
func Log(state string) string { return state + ":log" }

// Held returns the name of the sorted set of calls in flight.
func Held(state string) string { return state + ":held" }

// Restored returns the name of the mark that says which units of an ID were restored.
func Restored(state, id string) string { return state + ":r" + id }

// Counter returns the name of the counter of the i-th limit in package plainstore.
func Counter(state string, i int) string { return state + ":" + strconv.Itoa(i) }

// hash returns 20 bytes of the SHA-256 of scope and key, in hexadecimal digits.
func hash(scope, key string) string {
	h := sha256.New()
	h.Write([]byte(escape(scope, true)))
	h.Write([]byte{':'}) // An escaped scope has no colon.
	h.Write([]byte(key))
	return hex.EncodeToString(h.Sum(nil)[:20])
}

const hexDigits = "0123456789ABCDEF"

// escape writes %XX in place of each byte that is not plain. A scope ends at the first
// colon, so its own colons are not plain.
func escape(text string, scope bool) string {
	first := 0
	for first < len(text) && plain(text[first], scope) {
		first++
	}
	if first == len(text) {
		return text
	}
	var b strings.Builder
	b.WriteString(text[:first])
	for i := first; i < len(text); i++ {
		if c := text[i]; plain(c, scope) {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
		}
	}
	return b.String()
}

// plain reports whether a byte stands for itself.
func plain(c byte, scope bool) bool {
	return c > ' ' && c < 0x7f && c != '{' && c != '}' && c != '%' && c != '#' && (c != ':' || !scope)
}
