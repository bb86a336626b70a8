package answer

import (
	"encoding/base64"
	"net/http"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/digest"
)

// SetDraft11 adds RateLimit-Policy to the response's headers, and RateLimit if the decision has
// the state of every limit: the fields of draft-ietf-httpapi-ratelimit-headers-11. The policies of
// all levels are one list, and their states another. policies are the former if they are known,
// without a pk.
func (d *Decision) SetDraft11(h http.Header, v *Values, policies string, pks *Partitions) {
	p, s := make([]byte, 0, 160), make([]byte, 0, 160)
	tell, listed, n := d.states() > 0, policies != "" && pks == nil, 0
	for i := range d.Levels {
		limits, pk := d.Levels[i].Limits, pks.param(&d.Levels[i])
		if !listed {
			p = appendPolicies(p, limits, pk)
		}
		for ; tell && len(limits) > 0; limits, n = limits[1:], n+1 {
			one := d.about(n)
			s = appendParam(appendString(appendComma(s), one.Limit.Policy()), ";r=", one.Remaining)
			s = append(appendParam(s, ";t=", seconds(untilMore(&one))), pk...)
		}
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
	for i := range limits {
		l := &limits[i]
		b = appendParam(appendString(appendComma(b), l.Policy()), ";q=", l.Max())
		if w := window(l); w >= time.Second { // w is not for less.
			b = appendParam(b, ";w=", seconds(w))
		}
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
