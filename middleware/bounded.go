package middleware

import (
	"crypto/sha256"
	"encoding/base64"
)

// maxKey bounds the keys that are counted as they stand, in bytes. Stores keep
// keys, and clients may choose them.
const maxKey = 1024

// bounded returns the key itself, or for a key over maxKey its start and its hash.
// Both are a byte longer than maxKey, so no client can send them as a key of its own.
func bounded(key string) string {
	if len(key) <= maxKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	text := base64.RawURLEncoding.EncodeToString(sum[:])
	return key[:maxKey+1-len(text)] + text
}
