package weir

import (
	"fmt"
	"net/http"
	"net/netip"
)

// KeyRemoteIP returns a KeyFunc whose key is the IP address that a request
// came from, by its RemoteAddr alone: an IPv4 address whole, an IPv6 address
// by its /64 prefix, because a subscriber is given at least that much. An IPv4
// address mapped into IPv6, or made IPv6 by a NAT64 (64:ff9b::/96, RFC 6052), is
// that IPv4 address; port and zone do not count.
// A RemoteAddr that is not an IP address, as of a Unix socket, is an error,
// and not ErrNoKey.
//
// The client does not control it, other than by having many addresses, unless
// something in front rewrites RemoteAddr from a header. Behind a proxy it is
// the proxy's address, so that everyone shares one key: that is what
// [KeyClientIP] is for. People behind one NAT share theirs.
func KeyRemoteIP() KeyFunc { return remoteIPKey }

func remoteIPKey(r *http.Request) (string, error) {
	addr, err := remoteAddr(r)
	if err != nil {
		return "", err
	}
	return ipKey(addr, ipKeyBits), nil
}

// remoteAddr returns the address that a request came from, or an error and the
// zero Addr.
func remoteAddr(r *http.Request) (netip.Addr, error) {
	if ap, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		return plainAddr(ap.Addr()), nil
	}
	// Middleware that rewrites RemoteAddr often leaves the port out, and may leave
	// the brackets of an IPv6 address.
	if addr, err := netip.ParseAddr(r.RemoteAddr); err == nil {
		return plainAddr(addr), nil
	}
	if n := len(r.RemoteAddr); n > 2 && r.RemoteAddr[0] == '[' && r.RemoteAddr[n-1] == ']' {
		if addr, err := netip.ParseAddr(r.RemoteAddr[1 : n-1]); err == nil && addr.Is6() {
			return plainAddr(addr), nil
		}
	}
	return netip.Addr{}, fmt.Errorf("weir: the remote address %.64q is not an IP address", r.RemoteAddr)
}

// plainAddr returns addr as addresses are compared and counted: without a zone,
// and as IPv4 when it is mapped into IPv6.
func plainAddr(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }

// ipKeyBits is how much of an IPv6 address counts unless told otherwise.
const ipKeyBits = 64

// nat64 is where addresses of IPv4 are in IPv6 that a NAT64 translates by the
// well-known prefix. What other prefixes translate depends on the network.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// ipKey returns the key of a valid plain address, of which the first bits count
// when it is IPv6. A proxy is known by the address that it has, so what NAT64 made
// of one is the address only once it counts.
func ipKey(addr netip.Addr, bits int) string {
	if nat64.Contains(addr) {
		whole := addr.As16()
		addr = netip.AddrFrom4([4]byte(whole[12:]))
	}
	if addr.Is4() {
		return addr.String()
	}
	return netip.PrefixFrom(addr, bits).Masked().String()
}
