package clientip

import (
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"github.com/goweir/weir/internal/httptoken"
)

// Remote returns the address in r.RemoteAddr, without its zone and unmapped. It
// fails if RemoteAddr is not an IP address, with or without a port.
func Remote(r *http.Request) (netip.Addr, error) {
	// Middleware that rewrites RemoteAddr often leaves the port out, and may leave
	// the brackets of an IPv6 address.
	if addr, ok := parseHop(r.RemoteAddr); ok {
		return addr, nil
	}
	return netip.Addr{}, fmt.Errorf("weir: the remote address %.64q is not an IP address", r.RemoteAddr)
}

// Network returns a network of proxies in the form of [Proxies]. It reports false
// if the network is invalid or has every address of IPv4 or IPv6.
func Network(p netip.Prefix) (netip.Prefix, bool) {
	if p.IsValid() && p.Addr().Is4In6() {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked(), p.IsValid() && p.Bits() > 0
}

// plain returns addr in the form in which addresses are compared: without a zone,
// and as IPv4 if it is mapped into IPv6.
func plain(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }

// nat64 holds the addresses of IPv4 that a NAT64 translates by the well-known
// prefix. Other prefixes depend on the network.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// Key returns the text by which a client is counted: an IPv4 address, or the
// prefix of that many bits, 1 to 128, of an IPv6 address. An address of NAT64
// becomes its IPv4 address here, and not before: a proxy is known by the address
// that it has.
func Key(addr netip.Addr, bits int) string {
	if nat64.Contains(addr) {
		whole := addr.As16()
		addr = netip.AddrFrom4([4]byte(whole[12:]))
	}
	if addr.Is4() {
		return addr.String()
	}
	return netip.PrefixFrom(addr, bits).Masked().String()
}

// parseHop reads an IPv4 or IPv6 address with or without port, zone and, for
// IPv6, brackets. It reports false for anything else, as "unknown" or an
// obfuscated identifier.
func parseHop(s string) (netip.Addr, bool) {
	host, port := s, ""
	bracketed := strings.HasPrefix(s, "[")
	if bracketed {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return netip.Addr{}, false
		}
		host, port = s[1:end], s[end+1:]
	} else if i := strings.IndexByte(s, ':'); i >= 0 && i == strings.LastIndexByte(s, ':') {
		host, port = s[:i], s[i:]
	}
	if port != "" && !isPort(port) {
		return netip.Addr{}, false
	}
	// The zone goes first, because netip would keep each in a table.
	host, zone, zoned := strings.Cut(host, "%")
	addr, err := netip.ParseAddr(host)
	if err != nil || addr.Is4() && (bracketed || zoned) || zoned && zone == "" {
		return netip.Addr{}, false
	}
	return plain(addr), true
}

// isPort reports whether s is a colon and a port, or an obfuscated port of RFC
// 7239, section 6.3.
func isPort(s string) bool {
	if s[0] != ':' {
		return false
	}
	if s = s[1:]; strings.HasPrefix(s, "_") {
		return httptoken.Is(s[1:])
	}
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil && len(s) <= 5
}
