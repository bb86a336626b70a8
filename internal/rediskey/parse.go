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
	if !ok {
		return n, false
	}
	n.State = name[:len(name)-len(part)]
	if part != "" {
		if n.Part, ok = strings.CutPrefix(part, ":"); !ok || !isPart(n.Part) {
			return n, false
		}
	}
	if hash, ok := strings.CutPrefix(tag, "#"); ok {
		n.Hash = hash
		return n, len(n.Hash) == 40 && strings.Trim(n.Hash, "0123456789abcdef") == ""
	}
	scope, key, _ := strings.Cut(tag, ":")
	n.Scope, n.Key = Unescape(scope), Unescape(key)
	return n, State(prefix, n.Scope, n.Key) == n.State
}

// maxMark is the length of the longest part: a mark with its id.
const maxMark = 100

// isPart reports whether a text may stand behind a state's colon. Names are shown to
// people, so a mark's id is printable ASCII.
func isPart(text string) bool {
	switch {
	case text == "log" || text == "held":
		return true
	case len(text) == 1:
		return text[0] >= '0' && text[0] <= '7'
	}
	return strings.HasPrefix(text, "r") && len(text) <= maxMark && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// Text returns scope and key as they stand in names, without the braces: for people,
// and for [ParseText].
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
