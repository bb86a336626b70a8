// Package clientip finds the address of a request's client, also behind proxies.
package clientip

import (
	"net/http"
	"net/netip"
)

// MaxProxies bounds the addresses that are read from a header.
const MaxProxies = 32

// Proxies are the proxies in front of a server. The zero value trusts no proxy.
// Proxies is safe for concurrent use as long as its fields stay the same.
type Proxies struct {
	// Header is the header that the proxies write, in canonical form. It is read
	// only from trusted proxies.
	Header string

	// Trusted are the networks of the proxies, made by [Network]. Empty: see Hops.
	Trusted []netip.Prefix

	// Hops is the number of proxies, at most [MaxProxies], whatever their
	// addresses. Trusted overrides it.
	Hops int
}

// Client returns the first address that is no trusted proxy's, read from the
// right: the peer's address, then the addresses in the header. If a trusted
// proxy names no valid address, the result is the proxy's own address. The
// result has no zone and is unmapped. Client fails if no address is known.
func (p *Proxies) Client(r *http.Request) (netip.Addr, error) {
	addr, err := Remote(r)
	proxies := p.Hops
	if len(p.Trusted) > 0 {
		proxies = MaxProxies
	}
	if proxies == 0 {
		return addr, err
	}
	hops := hopReader{form: formOf(p.Header), lines: r.Header[p.Header]}
	for n := 0; n < proxies && p.trusts(addr); n++ {
		next, ok := hops.next()
		if !ok {
			break
		}
		addr, err = next, nil
	}
	return addr, err
}

// trusts reports whether addr may be a proxy's; addr may be the zero Addr.
func (p *Proxies) trusts(addr netip.Addr) bool {
	for _, network := range p.Trusted {
		if network.Contains(addr) {
			return true
		}
	}
	return len(p.Trusted) == 0
}
