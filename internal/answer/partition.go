package answer

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"sync"
)

// Partitions makes the parameter pk of a Limiter's key. Without the secret, clients
// can neither read the key from it nor check a guess.
type Partitions struct {
	pool sync.Pool // of *partitioner
}

// NewPartitions returns nil, which makes no pk, for an empty secret.
func NewPartitions(secret []byte) *Partitions {
	if len(secret) == 0 {
		return nil
	}
	secret = bytes.Clone(secret)
	return &Partitions{sync.Pool{New: func() any {
		return &partitioner{mac: hmac.New(sha256.New, secret)}
	}}}
}

// partitioner makes one pk at a time.
type partitioner struct {
	mac       hash.Hash
	text, sum []byte
}

// partitionBytes of the hash are enough to tell the few keys of a client apart.
const partitionBytes = 8

// param returns the parameter, with the semicolon before it.
func (p *Partitions) param(level *Level) string {
	if p == nil {
		return ""
	}
	m := p.pool.Get().(*partitioner)
	m.mac.Reset()
	m.text = append(append(m.text[:0], level.Limiter...), 0) // No name has a 0.
	m.text = append(m.text, level.Key...)
	m.mac.Write(m.text)
	m.sum = m.mac.Sum(m.sum[:0])
	m.text = base64.StdEncoding.AppendEncode(append(m.text[:0], ";pk=:"...), m.sum[:partitionBytes])
	pk := string(append(m.text, ':'))
	p.pool.Put(m)
	return pk
}
