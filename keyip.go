package weir

import (
	"fmt"
	"net/http"
	"net/netip"
)

// KeyRemoteIP returns a KeyFunc whose key is the IP address that a request
// came from, by its RemoteAddr alone: an IPv4 address whole, an IPv6 address
// by its /64 prefix, because a subscriber is given at least that much. An IPv4
// address mapped into IPv6 is that IPv4 address; port and zone do not count.
// A RemoteAddr that is not an IP address, as of a Unix socket, is an error,
// and not ErrNoKey.
//
// The client does not control it, other than by having many addresses. Behind
// a proxy it is the proxy's address, so that everyone shares one key; and
// people behind one NAT share theirs.
func KeyRemoteIP() KeyFunc { return remoteIPKey }

func remoteIPKey(r *http.Request) (string, error) {
	if ap, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		return ipKey(ap.Addr()), nil
	}
	// Middleware that rewrites RemoteAddr often leaves the port out.
	if addr, err := netip.ParseAddr(r.RemoteAddr); err == nil {
		return ipKey(addr), nil
	}
	return "", fmt.Errorf("weir: the remote address %.64q is not an IP address", r.RemoteAddr)
}

// ipKeyBits is how much of an IPv6 address counts.
const ipKeyBits = 64

// ipKey returns the key of a valid address.
func ipKey(addr netip.Addr) string {
	addr = addr.Unmap()
	if addr.Is4() {
		return addr.String()
	}
	return netip.PrefixFrom(addr.WithZone(""), ipKeyBits).Masked().String()
}
