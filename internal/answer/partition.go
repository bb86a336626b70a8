package answer

import (
	"encoding/base64"

	"github.com/goweir/weir/internal/digest"
)

// Partitions makes the parameter pk of a Limiter's key. Without the secret, clients
// can neither read the key from it nor check a guess.
type Partitions struct{ hash *digest.Hash }

// NewPartitions returns nil, which makes no pk, for an empty secret.
func NewPartitions(secret []byte) *Partitions {
	if len(secret) == 0 {
		return nil
	}
	return &Partitions{digest.New(secret)}
}

// partitionBytes of the hash are enough to tell the few keys of a client apart.
const partitionBytes = 8

// param returns the parameter, with the semicolon before it.
func (p *Partitions) param(level *Level) string {
	if p == nil {
		return ""
	}
	pk := append(make([]byte, 0, 24), ";pk=:"...)
	pk = p.hash.Append(pk, base64.StdEncoding, partitionBytes, level.Limiter, level.Key)
	return string(append(pk, ':'))
}
