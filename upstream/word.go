package upstream

import "strings"

// The words in the names of headers about limits.
var (
	wordLimit      = newWord("limit")
	wordRemaining  = newWord("remaining")
	wordReset      = newWord("reset")
	wordRetryAfter = newWord("retry-after")
)

// word is a word to find in the names of headers. All names of every response are
// searched, so a name without the word must cost little.
type word struct {
	text  string // in lower case, ASCII
	bytes uint32 // a bit for each byte's last five bits, equal in upper and lower case
}

func newWord(text string) word {
	w := word{text: text}
	for i := range len(text) {
		w.bytes |= 1 << (text[i] & 31)
	}
	return w
}

// in reports whether a name has the word in it, in upper or lower case.
//
// A word of n bytes covers one of every n-th byte of the name. If none of these is
// a byte of the word, the name does not have the word.
func (w *word) in(name string) bool {
	n := len(w.text)
	for at := n - 1; at < len(name); at += n {
		if w.bytes>>(name[at]&31)&1 == 0 {
			continue
		}
		for i := at - n + 1; i <= min(at, len(name)-n); i++ {
			if name[i]|0x20 == w.text[0] && strings.EqualFold(name[i:i+n], w.text) {
				return true
			}
		}
	}
	return false
}

// isUsual reports whether most responses have a header of this name. None of these is
// about limits. The question takes half the time of a search for words: of 12 usual
// names, 65 ns less (BenchmarkRead).
func isUsual(name string) bool {
	switch name {
	case "Age", "Alt-Svc", "Cache-Control", "Cf-Ray", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Date",
		"Etag", "Expires", "Keep-Alive", "Last-Modified", "Link", "Server", "Set-Cookie", "Strict-Transport-Security",
		"Transfer-Encoding", "Vary", "Via", "X-Content-Type-Options", "X-Frame-Options", "X-Powered-By", "X-Request-Id":
		return true
	}
	return false
}
