package clientip_test

import (
	"net/netip"
	"testing"

	"github.com/goweir/weir/internal/clientip"
)

func TestRemote(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, addr, want string }{
		{"IPv4", "192.0.2.7:4711", "192.0.2.7"},
		{"IPv4 without port", "192.0.2.7", "192.0.2.7"},
		{"IPv6", "[2001:db8:1:2:3:4:5:6]:4711", "2001:db8:1:2::/64"},
		{"IPv6 without port", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"},
		{"IPv6 neighbour", "[2001:db8:1:2:ffff::]:1", "2001:db8:1:2::/64"},
		{"IPv6 next prefix", "[2001:db8:1:3::6]:1", "2001:db8:1:3::/64"},
		{"zone", "[fe80::1%eth0]:4711", "fe80::/64"},
		{"another zone", "[fe80::2%eth1]:4711", "fe80::/64"},
		{"mapped", "[::ffff:192.0.2.7]:4711", "192.0.2.7"},
		{"mapped in hexadecimal", "[::ffff:c000:207]:4711", "192.0.2.7"},
		{"mapped with zone", "[::ffff:192.0.2.7%eth0]:4711", "192.0.2.7"},
		{"mapped without port", "::ffff:192.0.2.7", "192.0.2.7"},
		{"IPv6 in brackets without port", "[2001:db8:1:2:3:4:5:6]", "2001:db8:1:2::/64"},
		{"loopback in brackets", "[::1]", "::/64"},
		{"IPv4 in brackets", "[192.0.2.7]", ""},
		{"bracket that never closes", "[2001:db8::1", ""},
		{"bracket alone", "[", ""},
		{"brackets alone", "[]", ""},
		{"NAT64", "[64:ff9b::192.0.2.7]:4711", "192.0.2.7"},
		{"NAT64 with zone, without port", "64:ff9b::c000:207%eth0", "192.0.2.7"},
		{"NAT64 of another address", "[64:ff9b::192.0.2.8]:4711", "192.0.2.8"},
		{"NAT64, local prefix", "[64:ff9b:1::192.0.2.7]:4711", "64:ff9b:1::/64"},
		{"beside NAT64", "[64:ff9b::1:0:c000:207]:4711", "64:ff9b::/64"},
		{"nothing", "", ""},
		{"Unix socket", "@", ""},
		{"name", "localhost:80", ""},
		{"leading zero", "192.0.2.07:80", ""},
		{"list", "192.0.2.7, 192.0.2.8", ""},
		{"huge port", "192.0.2.7:99999", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := from(c.addr, "X-Forwarded-For", "203.0.113.9", "X-Real-Ip", "203.0.113.9", "Forwarded", "for=203.0.113.9")
			got, err := keyOf(clientip.Proxies{}, r)
			if got != c.want || (err == nil) != (c.want != "") {
				t.Fatalf("key %q, error %v; want %q", got, err, c.want)
			}
		})
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, addr string
		bits       int
		want       string
	}{
		{"IPv4", "192.0.2.7", 1, "192.0.2.7"},
		{"IPv6, one bit", "2001:db8:aabb:ccdd::1", 1, "::/1"},
		{"IPv6, /48", "2001:db8:aabb:ccdd::1", 48, "2001:db8:aabb::/48"},
		{"IPv6, /56", "2001:db8:aabb:ccdd::1", 56, "2001:db8:aabb:cc00::/56"},
		{"IPv6, /64", "2001:db8:aabb:ccdd::1", 64, "2001:db8:aabb:ccdd::/64"},
		{"IPv6, whole", "2001:db8:aabb:ccdd::1", 128, "2001:db8:aabb:ccdd::1/128"},
		{"NAT64", "64:ff9b::192.0.2.7", 48, "192.0.2.7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := clientip.Key(netip.MustParseAddr(c.addr), c.bits); got != c.want {
				t.Errorf("key %q, want %q", got, c.want)
			}
		})
	}
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"IPv4", "10.1.2.3/8", "10.0.0.0/8"},
		{"IPv6", "fd00::1/8", "fd00::/8"},
		{"mapped", "::ffff:10.0.0.1/104", "10.0.0.0/8"},
		{"one address", "::ffff:10.0.0.1/128", "10.0.0.1/32"},
		{"every IPv4 address", "0.0.0.0/0", ""},
		{"every IPv6 address", "::/0", ""},
		{"every mapped address", "::ffff:0.0.0.0/96", ""},
		{"more than the mapped addresses", "::ffff:0.0.0.0/95", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, ok := clientip.Network(netip.MustParsePrefix(c.text))
			if ok != (c.want != "") || ok && got.String() != c.want {
				t.Errorf("%v, %v; want %q", got, ok, c.want)
			}
		})
	}
	if got, ok := clientip.Network(netip.Prefix{}); ok {
		t.Errorf("the zero prefix is %v", got)
	}
}

func FuzzRemote(f *testing.F) {
	for _, s := range []string{"192.0.2.7:80", "[::1%lo]:80", "::ffff:1.2.3.4", "[2001:db8::1]:0", "@", "", ":80", "[]:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, addr string) {
		key, err := keyOf(clientip.Proxies{}, from(addr))
		if err != nil {
			return
		}
		if p, err := netip.ParsePrefix(key); err == nil && p.Bits() == 64 && p.Addr().Is6() && p == p.Masked() {
			return
		}
		if a, err := netip.ParseAddr(key); err != nil || !a.Is4() {
			t.Errorf("%q: key %q is neither an IPv4 address nor a /64", addr, key)
		}
	})
}
