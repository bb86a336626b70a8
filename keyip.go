package weir

import (
	"cmp"
	"net/http"
	"net/netip"
	"strconv"

	"github.com/goweir/weir/internal/clientip"
	"github.com/goweir/weir/store"
)

// KeyRemoteIP returns a KeyFunc whose key is the IP address in the request's
// RemoteAddr: an IPv4 address whole, an IPv6 address by its /64 prefix, because a
// subscriber has at least that much. An IPv4 address mapped into IPv6, or made
// IPv6 by a NAT64 (64:ff9b::/96, RFC 6052), counts as that IPv4 address; port and
// zone do not count. A RemoteAddr that is not an IP address, as for a Unix socket,
// is an error, and not ErrNoKey.
//
// The client does not control its key, other than by having many addresses, unless
// a program in front rewrites RemoteAddr from a header. Behind a proxy the address
// is the proxy's, so that all clients share one key: use [KeyClientIP] there.
// People behind one NAT share their key.
func KeyRemoteIP() KeyFunc {
	f, _ := KeyClientIP(ClientIP{}) // A valid configuration.
	return f
}

// ClientIP says how [KeyClientIP] finds the address of a client behind proxies.
// The zero value trusts no proxy: the key is that of [KeyRemoteIP].
//
// The right setting depends on the proxies in front, and on the header that they
// write whatever the client sent:
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
//	Cloudflare, and no other way to the server {Header: "CF-Connecting-IP", Trusted: Cloudflare's networks}
//
// A header that the proxies do not write themselves on every request is the
// client's to write. With such a header, with an address of clients among Trusted,
// or with more Hops than there are proxies, every client can choose its key, and
// another client's. Of two headers name the one that the nearest proxy writes.
type ClientIP struct {
	// Header is the one header that is read, and only if the request came from a
	// trusted proxy: all its lines, as one list in order. In X-Forwarded-For and
	// Forwarded (RFC 7239) each proxy appends its peer's address, so the nearest
	// is last. Any other header holds one address, which the nearest proxy
	// overwrites. Empty: none, if no proxy is trusted.
	Header string

	// Trusted are the networks of the proxies, each of at least one bit: trusting
	// every address trusts every client. The client is the first address from the
	// right that is in none of them. Each address is looked for in all networks,
	// so keep the list to hundreds. Empty: none, or the proxies that Hops counts.
	Trusted []netip.Prefix

	// Hops is the number of proxies between the clients and this server, at most
	// 32, whatever their addresses: each is trusted for one address. Every request
	// must come through all of them, because a request that does not can choose
	// its key. Prefer Trusted; both together are an error. 0: none, or the proxies
	// of Trusted.
	Hops int

	// IPv6Bits is the length of the prefix of an IPv6 address that counts, 1 to
	// 128 bits. A subscriber chooses addresses from at least a /64, often from a
	// /56 or a /48. 0: 64.
	IPv6Bits int
}

// KeyClientIP returns a KeyFunc whose key is the IP address of the client, in the
// form of [KeyRemoteIP], also behind the proxies that cfg names, or a
// *[ConfigError]. The client is the first address that is no trusted proxy's, read
// from the right. The addresses further left come from the client and are not even
// read. From an untrusted peer the header is ignored.
//
// If a trusted proxy names no usable address, the key is that proxy's own address,
// and those clients share one key. A proxy names none if
//
//	the header is missing or has no more addresses
//	the next address is empty, malformed, unknown or obfuscated (RFC 7239, section 6)
//	the next address is over 1024 bytes long, or the 33rd
//	a header of one address holds several, or is on several lines
//
// A RemoteAddr that is not an IP address is in no network of Trusted; Hops counts
// it as a proxy. If no address is known at all, the error is not ErrNoKey.
//
// The client does not control its key, other than by having many addresses, if
// cfg is true of the proxies.
func KeyClientIP(cfg ClientIP) (KeyFunc, error) {
	proxies, err := cfg.proxies()
	if err != nil {
		return nil, err
	}
	bits := cmp.Or(cfg.IPv6Bits, 64)
	return func(r *http.Request) (string, error) {
		addr, err := proxies.Client(r)
		if err != nil {
			return "", err
		}
		return clientip.Key(addr, bits), nil
	}, nil
}

// proxies validates cfg.
func (cfg *ClientIP) proxies() (*clientip.Proxies, error) {
	wrong := func(field, want, got string) (*clientip.Proxies, error) {
		return nil, &store.ConfigError{Field: "ClientIP." + field, Want: want, Got: got}
	}
	trusts := cfg.Hops > 0 || len(cfg.Trusted) > 0
	switch {
	case cfg.IPv6Bits < 0 || cfg.IPv6Bits > 128:
		return wrong("IPv6Bits", "0, or 1 to 128", strconv.Itoa(cfg.IPv6Bits))
	case cfg.Hops < 0 || cfg.Hops > clientip.MaxProxies:
		return wrong("Hops", "0 to "+strconv.Itoa(clientip.MaxProxies), strconv.Itoa(cfg.Hops))
	case cfg.Hops > 0 && len(cfg.Trusted) > 0:
		return wrong("Hops", "none together with Trusted", strconv.Itoa(cfg.Hops))
	case cfg.Header == "" && trusts:
		return wrong("Header", "the header that the trusted proxies write", "none")
	case cfg.Header == "":
		return &clientip.Proxies{}, nil
	case !trusts:
		return wrong("Trusted", "the proxies that write Header, or Hops", "none")
	}
	header, err := headerName("ClientIP.Header", cfg.Header)
	if err != nil {
		return nil, err
	}
	trusted := make([]netip.Prefix, len(cfg.Trusted))
	for i, p := range cfg.Trusted {
		network, ok := clientip.Network(p)
		if !ok {
			return wrong("Trusted["+strconv.Itoa(i)+"]", "the network of proxies, with at least one bit", p.String())
		}
		trusted[i] = network
	}
	return &clientip.Proxies{Header: header, Trusted: trusted, Hops: cfg.Hops}, nil
}
