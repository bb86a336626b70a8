package rediskey

import "strings"

// Name is a name that this package made, taken apart.
type Name struct {
	State string // the name of the state
	Scope string // the limiter; empty with a Hash
	Key   string // the weir key; empty with a Hash
	Hash  string // of scope and key, if they are too long to stand in the name
	Part  string // behind the state's colon: "log", "held", "r<id>", "0" to "7"; empty: the state
}

// Full returns the whole name.
func (n *Name) Full() string {
	if n.Part == "" {
		return n.State
	}
	return n.State + ":" + n.Part
}

// Parse takes a name apart. It reports false for names that this package can't have made
// under the prefix.
func Parse(prefix, name string) (n Name, ok bool) {
	rest, ok := strings.CutPrefix(name, prefix+"{")
	if !ok {
		return n, false
	}
	tag, part, ok := strings.Cut(rest, "}")
	if !ok || part != "" && (len(part) < 2 || part[0] != ':') {
		return n, false
	}
	n.State = name[:len(name)-len(part)]
	if part != "" {
		n.Part = part[1:]
	}
	if hash, ok := strings.CutPrefix(tag, "#"); ok {
		n.Hash = hash
		return n, len(n.Hash) == 40 && strings.Trim(n.Hash, "0123456789abcdef") == ""
	}
	scope, key, _ := strings.Cut(tag, ":")
	n.Scope, n.Key = Unescape(scope), Unescape(key)
	return n, State(prefix, n.Scope, n.Key) == n.State
}

// Text returns scope and key as names have them, without the braces: for people, and for
// [ParseText].
func Text(scope, key string) string { return escape(scope, true) + ":" + escape(key, false) }

// ParseText reads scope and key from their text. It reports false without a colon. Bytes that
// Text would escape stand for themselves, except colons of the scope.
func ParseText(text string) (scope, key string, ok bool) {
	scope, key, ok = strings.Cut(text, ":")
	return Unescape(scope), Unescape(key), ok
}

// Unescape replaces each %XX by its byte.
func Unescape(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			high, low := strings.IndexByte(hexDigits, text[i+1]), strings.IndexByte(hexDigits, text[i+2])
			if high >= 0 && low >= 0 {
				b.WriteByte(byte(high<<4 | low))
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
