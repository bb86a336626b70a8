package answer

import (
	"encoding/base64"
	"math/bits"
	"net/http"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/digest"
)

// The fields' names in the form that http.Header stores.
const (
	headerPolicy = "Ratelimit-Policy"
	headerState  = "Ratelimit"
)

// SetDraft11 adds RateLimit-Policy to the response's headers, and RateLimit if the
// decision has the state of every limit: the fields of
// draft-ietf-httpapi-ratelimit-headers-11. The policies of all levels are one
// list, and their states another. policies are the former if they are known,
// without a pk.
func (d *Decision) SetDraft11(h http.Header, v *Values, policies string, pks *Partitions) {
	p, s := make([]byte, 0, 160), make([]byte, 0, 160)
	tell, listed, charge := d.states() > 0, policies != "" && pks == nil, 0
	for i := range d.Levels {
		limits, pk := d.Levels[i].Limits, pks.param(&d.Levels[i])
		if !listed {
			p = appendPolicies(p, limits, pk)
		}
		if tell {
			s = d.appendStates(s, limits, charge, pk)
		}
		charge += len(limits)
	}
	if !listed {
		policies = string(p)
	}
	v.add(h, headerPolicy, policies)
	if tell {
		v.add(h, headerState, string(s))
	}
}

// Policies returns the value of SetDraft11's RateLimit-Policy, without a pk.
func Policies(limits []weir.Limit) string { return string(appendPolicies(nil, limits, "")) }

// appendPolicies appends the RateLimit-Policy field's members, which are the same
// whatever is decided.
func appendPolicies(b []byte, limits []weir.Limit, pk string) []byte {
	for _, l := range limits {
		if len(b) > 0 {
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

// appendWindow appends the parameter w, unless it is too short for seconds.
func appendWindow(b []byte, l weir.Limit) []byte {
	if w := window(l); w >= time.Second {
		b = append(b, ";w="...)
		b = appendInteger(b, seconds(w))
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

// appendStates appends the RateLimit field's members of limits, whose charges begin with
// the one of that number.
func (d *Decision) appendStates(b []byte, limits []weir.Limit, charge int, pk string) []byte {
	for i, l := range limits {
		if len(b) > 0 {
			b = append(b, ", "...)
		}
		c := d.Charge(charge + i)
		b = appendString(b, l.Policy())
		b = append(b, ";r="...)
		b = appendInteger(b, c.Remaining)
		b = append(b, ";t="...)
		b = appendInteger(b, seconds(c.ResetAfter))
		b = append(b, pk...)
	}
	return b
}

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
