package weir

import (
	"net/http"
	"net/netip"
	"slices"
	"strconv"
)

// ClientIP says how [KeyClientIP] finds the address of a client behind
// proxies. The zero value trusts nobody: the key is that of [KeyRemoteIP].
//
// Which setting is right depends on what stands in front, and on which header
// that writes whatever the client sent:
//
//	in front of the server                     ClientIP
//	nothing                                    {}
//	one proxy that appends to X-Forwarded-For  {Header: "X-Forwarded-For", Trusted: its network}
//	several, each appending                    {Header: "X-Forwarded-For", Trusted: all their networks}
//	proxies of unknown or changing addresses,  {Header: "X-Forwarded-For", Hops: how many}
//	  and no other way to the server
//	a proxy on a Unix socket                   {Header: …, Hops: 1}
//	proxies that append to Forwarded           {Header: "Forwarded", Trusted: their networks}
//	a proxy that overwrites X-Real-IP          {Header: "X-Real-IP", Trusted: its network}
//	Cloudflare, and nobody else gets through   {Header: "CF-Connecting-IP", Trusted: Cloudflare's networks}
//
// A header that the proxies do not write themselves on every request is the
// client's to write: with such a one named, or with an address of clients among
// Trusted, or with more Hops than there are proxies, anybody can choose their
// key, and yours. Of two headers name the one that the nearest proxy writes.
type ClientIP struct {
	// Header is the one header that is read, and only when the request came
	// from a proxy that is trusted: all its lines, as one list in order.
	// X-Forwarded-For and Forwarded (RFC 7239) hold the addresses that each
	// proxy was reached from, the nearest last; any other holds one address,
	// which the nearest proxy overwrites. Empty: none, when nobody is trusted.
	Header string

	// Trusted are the networks of the proxies. An address in them is passed over
	// for the one that this proxy says it was reached from, from the right to
	// the left, until one is not in them: that is the client. All have at least
	// one bit, since trusting every address trusts every client. Each address
	// is looked for in all of them, so keep it to hundreds. Empty: nobody, or
	// those that Hops counts.
	Trusted []netip.Prefix

	// Hops is how many proxies stand between the clients and this server, at
	// most 32, whatever their addresses: each is trusted for one address. Every
	// request must have come through all of them: one that did not can choose
	// its key. Use Trusted where you can; both together are a mistake. 0: none,
	// or those of Trusted.
	Hops int

	// IPv6Bits is how much of an IPv6 address counts, 1 to 128 bits. A
	// subscriber has at least 64 and often 56 or 48 to choose addresses from.
	// 0: 64.
	IPv6Bits int
}

// mostProxies bounds how many addresses of a header are read.
const mostProxies = 32

// KeyClientIP returns a KeyFunc whose key is the IP address of the client, in
// the form of [KeyRemoteIP], also behind the proxies that cfg names, or a
// *[ConfigError]. It is the first address that is no trusted proxy's, read from
// the right: what stands further left is what the client sent, does not matter,
// and is not even looked at. From an untrusted peer the header is ignored.
//
// When a trusted proxy did not say whom it was reached from, the key is the
// nearest address that is known, which is that proxy's, and never one further
// left. So it is when the header is missing or ends, and when the next address
// in it is empty, malformed, unknown or obfuscated (RFC 7239, section 6), over
// 1024 bytes long, or the 33rd, and when a header of one address holds several
// or is on several lines. Those clients share one key. A RemoteAddr that is
// not an IP address is nobody's that is in Trusted; Hops counts it as a proxy.
// If no address is known at all the error is not ErrNoKey.
//
// The client does not control its key, other than by having many addresses, if
// cfg is true of the proxies.
func KeyClientIP(cfg ClientIP) (KeyFunc, error) {
	c, err := newClientIP(cfg)
	if err != nil {
		return nil, err
	}
	return func(r *http.Request) (string, error) {
		addr, err := c.addr(r)
		if err != nil {
			return "", err
		}
		return ipKey(addr, c.bits), nil
	}, nil
}

// clientIP is a ClientIP that was found valid. It is never changed.
type clientIP struct {
	header  string
	form    headerForm
	trusted []netip.Prefix // empty: whoever it is, up to most
	most    int            // how many addresses are read
	bits    int
}

func newClientIP(cfg ClientIP) (*clientIP, error) {
	c := &clientIP{bits: cfg.IPv6Bits, most: cfg.Hops}
	if c.bits == 0 {
		c.bits = ipKeyBits
	}
	switch {
	case c.bits < 1 || c.bits > 128:
		return nil, invalidClientIP("IPv6Bits", "0, or 1 to 128", strconv.Itoa(cfg.IPv6Bits))
	case cfg.Hops < 0 || cfg.Hops > mostProxies:
		return nil, invalidClientIP("Hops", "0 to "+strconv.Itoa(mostProxies), strconv.Itoa(cfg.Hops))
	case cfg.Hops > 0 && len(cfg.Trusted) > 0:
		return nil, invalidClientIP("Hops", "none together with Trusted", strconv.Itoa(cfg.Hops))
	case cfg.Header == "" && (cfg.Hops > 0 || len(cfg.Trusted) > 0):
		return nil, invalidClientIP("Header", "the header that the trusted proxies write", "none")
	case cfg.Header == "":
		return c, nil
	case cfg.Hops == 0 && len(cfg.Trusted) == 0:
		return nil, invalidClientIP("Trusted", "the proxies that write Header, or Hops", "none")
	}
	var err error
	if c.header, err = headerName("ClientIP.Header", cfg.Header); err != nil {
		return nil, err
	}
	c.form = formOf(c.header)
	if c.trusted, err = plainPrefixes(cfg.Trusted); err != nil {
		return nil, err
	}
	if len(c.trusted) > 0 {
		c.most = mostProxies
	}
	return c, nil
}

// plainPrefixes returns prefixes in the form of plainAddr's addresses.
func plainPrefixes(prefixes []netip.Prefix) ([]netip.Prefix, error) {
	plain := slices.Clone(prefixes)
	for i, p := range prefixes {
		if p.IsValid() && p.Addr().Is4In6() {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		if !p.IsValid() || p.Bits() == 0 {
			return nil, invalidClientIP("Trusted["+strconv.Itoa(i)+"]", "the network of proxies, with at least one bit", prefixes[i].String())
		}
		plain[i] = p.Masked()
	}
	return plain, nil
}

func invalidClientIP(field, want, got string) error {
	return &ConfigError{Field: "ClientIP." + field, Want: want, Got: got}
}

// addr returns the plain address of the client.
func (c *clientIP) addr(r *http.Request) (netip.Addr, error) {
	addr, err := remoteAddr(r)
	if c.most == 0 {
		return addr, err
	}
	hops := hopReader{form: c.form, lines: r.Header[c.header]}
	for n := 0; n < c.most && c.trusts(addr); n++ {
		next, ok := hops.next()
		if !ok {
			break
		}
		addr, err = next, nil
	}
	return addr, err
}

// trusts reports whether addr may be a proxy's; it may be the zero Addr.
func (c *clientIP) trusts(addr netip.Addr) bool {
	if len(c.trusted) == 0 {
		return true
	}
	for _, p := range c.trusted {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}
