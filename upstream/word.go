package upstream

import "strings"

// The words by which headers are found, as these are about limits.
var (
	wordLimit      = newWord("limit")
	wordRetryAfter = newWord("retry-after")
)

// word is what the names of headers are searched for. Every response is, so
// that it has to be quick to see that a name does not have it.
type word struct {
	text  string // in lower case, ASCII
	bytes uint32 // a bit for each, by its last five, which are the same in upper case
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
// Wherever the word is, it covers one of the places that are its length apart:
// where none of these has a byte of the word's, it is not there.
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
