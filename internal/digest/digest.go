// Package digest hashes texts that no reader of the hash may learn: credentials, and
// the keys of clients.
package digest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"sync"
)

// Hash is SHA-256, or HMAC-SHA256 with a secret. It is safe for concurrent use.
type Hash struct{ states sync.Pool }

// state makes one digest at a time.
type state struct {
	hash      hash.Hash
	text, sum []byte
}

// New returns a Hash with a secret. Empty: without one.
func New(secret []byte) *Hash {
	secret = bytes.Clone(secret)
	return &Hash{sync.Pool{New: func() any {
		if len(secret) == 0 {
			return &state{hash: sha256.New()}
		}
		return &state{hash: hmac.New(sha256.New, secret)}
	}}}
}

// Append appends the first n bytes of a digest to b, as base64. A 0 separates the two hashed
// texts, so the first one has none.
func (h *Hash) Append(b []byte, encoding *base64.Encoding, n int, first, second string) []byte {
	s := h.states.Get().(*state)
	s.text = append(append(append(s.text[:0], first...), 0), second...)
	s.hash.Reset()
	s.hash.Write(s.text)
	s.sum = s.hash.Sum(s.sum[:0])
	b = encoding.AppendEncode(b, s.sum[:n])
	h.states.Put(s)
	return b
}
