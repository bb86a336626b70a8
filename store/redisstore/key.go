package redisstore

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// longestText is the longest key text that stays readable; a longer one is
// hashed.
const longestText = 120

// keys returns the Redis keys of a weir key: its state and its log. Both hold
// the same hash tag, so they live in the same slot of a cluster.
func (s *Store) keys(scope, key string) (state, log string) {
	state = s.prefix + "{" + tag(scope, key) + "}"
	return state, logOf(state)
}

// logOf returns the second of keys.
func logOf(state string) string { return state + ":log" }

// tag writes scope and key so that no two pairs look the same, nothing in them
// can end the hash tag, and it is never empty or long.
func tag(scope, key string) string {
	if len(scope)+len(key) <= longestText {
		if t := escape(scope, true) + ":" + escape(key, false); len(t) <= 2*longestText {
			return t
		}
	}
	sum := sha256.New()
	sum.Write([]byte(escape(scope, true)))
	sum.Write([]byte{':'})
	sum.Write([]byte(key))
	// No escaped text starts with '#'.
	return "#" + hex.EncodeToString(sum.Sum(nil)[:20])
}

const hexDigits = "0123456789ABCDEF"

// escape writes all but plain printable characters as %XX; of a scope also the
// colon that ends it.
func escape(text string, scope bool) string {
	if simple(text, scope) {
		return text
	}
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; standsForItself(c, scope) {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
		}
	}
	return b.String()
}

// simple reports whether a text is written as it is.
func simple(text string, scope bool) bool {
	for i := range len(text) {
		if !standsForItself(text[i], scope) {
			return false
		}
	}
	return true
}

// standsForItself reports whether a byte is written as it is.
func standsForItself(c byte, scope bool) bool {
	return c > ' ' && c < 0x7f && c != '{' && c != '}' && c != '%' && c != '#' && (c != ':' || !scope)
}

// stateKey is the first of keys.
func (s *Store) stateKey(scope, key string) string {
	if !simple(scope, true) || !simple(key, false) || len(scope)+len(key) > longestText {
		state, _ := s.keys(scope, key)
		return state
	}
	var b strings.Builder
	b.Grow(len(s.prefix) + len(scope) + len(key) + 3)
	b.WriteString(s.prefix)
	b.WriteByte('{')
	b.WriteString(scope)
	b.WriteByte(':')
	b.WriteString(key)
	b.WriteByte('}')
	return b.String()
}
