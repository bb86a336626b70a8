package dashboard

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	hashDigits = 10
	// maxShown bounds a key's text on the page, in bytes.
	maxShown = 200
)

// namer shows keys.
type namer struct{ plain bool }

// show returns the text for a key: the key itself, or the first digits of its hash.
func (n namer) show(key string) string {
	if n.plain {
		return shorten(key)
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])[:hashDigits]
}

// cause returns the text of an error. Servers quote the arguments of a command that they lack,
// so hashed keys need a cut.
func (n namer) cause(err error) string {
	text := fmt.Sprint(err) // A hook may get an event without its error.
	if !n.plain {
		text, _, _ = strings.Cut(text, ", with args beginning with")
	}
	return shorten(text)
}

// name names the key of a limiter in a row.
func (n namer) name(limiter, key string) keyName {
	return keyName{ID: idOf(limiter, key), Limiter: shorten(limiter), Key: n.show(key)}
}

// idOf returns the identity of a key in /change: 80 bits, so no two keys share one.
func idOf(limiter, key string) string {
	sum := sha256.Sum256([]byte(limiter + "\x00" + key)) // Names of limiters have no zero byte.
	return hex.EncodeToString(sum[:10])
}

// shorten makes valid UTF-8 of a text, and cuts off its end if it is too long. Characters
// without a shape, as control characters and marks that turn text around, become U+FFFD.
func shorten(text string) string {
	var b strings.Builder
	for _, r := range text {
		if !unicode.IsPrint(r) {
			r = utf8.RuneError
		}
		if b.Len()+utf8.RuneLen(r) > maxShown {
			b.WriteString("…")
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}
