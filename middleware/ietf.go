package middleware

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/goweir/weir"
)

// maxInteger is the largest integer that a structured field holds (RFC 9651,
// section 3.3.1).
const maxInteger = 999_999_999_999_999

// appendPolicies appends the RateLimit-Policy field's value, which is the same
// whatever is decided.
func appendPolicies(b []byte, limits []weir.Limit, pk string) []byte {
	for i, l := range limits {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = appendString(b, l.Policy())
		b = append(b, ";q="...)
		b = appendInteger(b, l.Max())
		b = appendWindow(b, l)
		b = append(b, pk...)
	}
	return b
}

// appendOldPolicies appends the RateLimit-Policy field's value as draft 6 has
// it, without names.
func appendOldPolicies(b []byte, limits []weir.Limit) []byte {
	for i, l := range limits {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = appendInteger(b, l.Max())
		b = appendWindow(b, l)
	}
	return b
}

// appendWindow appends the parameter w, unless it is too short for seconds.
func appendWindow(b []byte, l weir.Limit) []byte {
	if w := window(l); w >= time.Second {
		b = append(b, ";w="...)
		b = appendInteger(b, seconds(w))
	}
	return b
}

// appendStates appends the RateLimit field's value, of limits that are the
// decision's from one on.
func appendStates(b []byte, limits []weir.Limit, d *weir.Decision, from int, pk string) []byte {
	for i := range limits {
		if i > 0 {
			b = append(b, ", "...)
		}
		c := d.Charge(from + i)
		name := limits[i].Name
		if name == "" {
			name = limits[i].Policy()
		}
		b = appendString(b, name)
		b = append(b, ";r="...)
		b = appendInteger(b, c.Remaining)
		b = append(b, ";t="...)
		b = appendInteger(b, seconds(c.ResetAfter))
		b = append(b, pk...)
	}
	return b
}

// window returns the time in which a limit grants Max units again and again.
func window(l weir.Limit) time.Duration {
	hi, lo := bits.Mul64(uint64(l.Max()), uint64(l.Period))
	// A valid limit fills its burst within store.MaxPeriod: this fits.
	q, rest := bits.Div64(hi, lo, uint64(l.Rate))
	if rest > 0 {
		q++
	}
	return time.Duration(q)
}

// appendString appends printable ASCII as a string of RFC 9651, and of JSON
// too, which escapes the same two characters.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	if strings.IndexByte(s, '"') < 0 && strings.IndexByte(s, '\\') < 0 {
		return append(append(b, s...), '"')
	}
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return append(b, '"')
}

// partition returns the parameter pk for a limiter's key: without the secret it neither
// tells the key nor lets anybody check a guess of it. It is empty when none was
// asked for.
func (g *Guard) partition(limiter, key string) string {
	if len(g.cfg.PartitionSecret) == 0 {
		return ""
	}
	p := g.partitions.Get().(*partitioner)
	p.mac.Reset()
	p.text = append(append(p.text[:0], limiter...), 0) // which is in no name
	p.text = append(p.text, key...)
	p.mac.Write(p.text)
	p.sum = p.mac.Sum(p.sum[:0])
	p.text = base64.StdEncoding.AppendEncode(append(p.text[:0], ";pk=:"...), p.sum[:partitionLen])
	pk := string(append(p.text, ':'))
	g.partitions.Put(p)
	return pk
}

// partitioner makes one pk at a time.
type partitioner struct {
	mac       hash.Hash
	text, sum []byte
}

func (g *Guard) newPartitioner() any {
	return &partitioner{mac: hmac.New(sha256.New, g.cfg.PartitionSecret)}
}

// partitionLen is how many bytes of the hash are told: a client has few keys,
// so that 8 tell them apart.
const partitionLen = 8

func appendInteger(b []byte, n int64) []byte {
	return strconv.AppendInt(b, min(max(0, n), maxInteger), 10)
}
