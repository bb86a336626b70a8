package middleware

import (
	"crypto/sha256"
	"encoding/base64"
)

// maxKey bounds the keys that are counted as they stand, in bytes. Stores keep
// keys, and clients may choose them.
const maxKey = 1024

// bounded returns the key that is counted for one of any length. Of a longer one
// that is its start and its hash, together a byte more than maxKey, so that
// it is never a key that somebody else has.
func bounded(key string) string {
	if len(key) <= maxKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	var text [43]byte
	base64.RawURLEncoding.Encode(text[:], sum[:])
	return key[:maxKey+1-len(text)] + string(text[:])
}
