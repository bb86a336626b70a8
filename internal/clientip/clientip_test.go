package clientip_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/goweir/weir/internal/clientip"
)

const (
	proxy  = "10.0.0.1:4711" // a trusted peer
	client = "203.0.113.9"
)

func networks(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		network, ok := clientip.Network(netip.MustParsePrefix(text))
		if !ok {
			panic("no network of proxies: " + text)
		}
		all = append(all, network)
	}
	return all
}

// from returns a request with header lines as name, value, name, value.
func from(remoteAddr string, header ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = remoteAddr
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

// keyOf returns the client's key, with 64 bits of an IPv6 address.
func keyOf(p clientip.Proxies, r *http.Request) (string, error) {
	addr, err := p.Client(r)
	if err != nil {
		return "", err
	}
	return clientip.Key(addr, 64), nil
}

func TestClient(t *testing.T) {
	t.Parallel()
	trusted := networks("10.0.0.0/8", "fd00::/8", "::ffff:192.0.2.0/120")
	none := clientip.Proxies{}
	xff := clientip.Proxies{Header: "X-Forwarded-For", Trusted: trusted}
	one := clientip.Proxies{Header: "X-Forwarded-For", Hops: 1}
	two := clientip.Proxies{Header: "X-Forwarded-For", Hops: 2}
	real := clientip.Proxies{Header: "X-Real-Ip", Trusted: trusted}
	realByCount := clientip.Proxies{Header: "X-Real-Ip", Hops: 2}
	const f = "X-Forwarded-For"
	long := strings.Repeat(" ", 1025-len(client)) + client
	for _, c := range []struct {
		name string
		by   clientip.Proxies
		r    *http.Request
		want string
	}{
		{"nobody trusted", none, from("198.51.100.1:1", f, client, "Forwarded", "for="+client, "X-Real-IP", client), "198.51.100.1"},
		{"untrusted peer", xff, from("198.51.100.1:1", f, client), "198.51.100.1"},
		{"untrusted IPv6 peer", xff, from("[2001:db8:1:2::3]:1", f, client), "2001:db8:1:2::/64"},
		{"untrusted peer names a proxy", xff, from("198.51.100.1:1", f, client+", 10.0.0.2"), "198.51.100.1"},
		{"untrusted peer and a single address", real, from("198.51.100.1:1", "X-Real-IP", client), "198.51.100.1"},
		{"peer that is no address", xff, from("@", f, client), ""},
		{"trusted peer", xff, from(proxy, f, client), client},
		{"trusted IPv6 peer", xff, from("[fd00::1]:1", f, client), client},
		{"trusted peer with zone", xff, from("[fd00::1%eth0]:1", f, client), client},
		{"trusted peer, mapped", xff, from("[::ffff:10.0.0.1]:1", f, client), client},
		{"network given mapped", xff, from("192.0.2.7:1", f, client), client},
		{"beside the network given mapped", xff, from("192.0.3.7:1", f, client), "192.0.3.7"},
		{"peer behind NAT64 with a proxy's address", xff, from("[64:ff9b::10.0.0.1]:1", f, client), "10.0.0.1"},
		{"client behind NAT64", xff, from(proxy, f, "6.6.6.6, 64:ff9b::203.0.113.8"), "203.0.113.8"},
		{"client behind NAT64 with a proxy's address", xff, from(proxy, f, "6.6.6.6, 64:ff9b::10.0.0.2"), "10.0.0.2"},
		{"no header", xff, from(proxy), "10.0.0.1"},
		{"other headers", xff, from(proxy, "Forwarded", "for="+client, "X-Real-IP", client, "X-Forwarded", client), "10.0.0.1"},
		{"forged on the left", xff, from(proxy, f, "6.6.6.6, "+client), client},
		{"forged line before", xff, from(proxy, f, "6.6.6.6", f, client), client},
		{"proxies passed over", xff, from(proxy, f, "6.6.6.6, "+client+", 10.9.9.9,fd12::1"), client},
		{"proxies over several lines", xff, from(proxy, f, "6.6.6.6, "+client, f, "10.9.9.9", f, "10.0.0.3, 10.0.0.2"), client},
		{"mapped proxies", xff, from(proxy, f, client+", ::ffff:10.9.9.9, ::ffff:a00:1"), client},
		{"only proxies", xff, from(proxy, f, "10.0.0.3, 10.0.0.2"), "10.0.0.3"},
		{"garbage behind the client", xff, from(proxy, f, `"',;=\ `+"\x00, "+client), client},
		{"nothing before a comma", xff, from(proxy, f, ", "+client), client},
		{"garbage before the client", xff, from(proxy, f, "6.6.6.6, x, 10.0.0.2"), "10.0.0.2"},
		{"garbage at the end", xff, from(proxy, f, "6.6.6.6, x"), "10.0.0.1"},
		{"comma at the end", xff, from(proxy, f, "6.6.6.6,"), "10.0.0.1"},
		{"empty between", xff, from(proxy, f, "6.6.6.6, , 10.0.0.2"), "10.0.0.2"},
		{"empty line at the end", xff, from(proxy, f, "6.6.6.6", f, ""), "10.0.0.1"},
		{"comma at the start of the last line", xff, from(proxy, f, "6.6.6.6", f, ", 10.0.0.2"), "10.0.0.2"},
		{"empty header", xff, from(proxy, f, ""), "10.0.0.1"},
		{"unknown", xff, from(proxy, f, "6.6.6.6, unknown, 10.0.0.2"), "10.0.0.2"},
		{"longest", xff, from(proxy, f, "6.6.6.6,"+long[1:]), client},
		{"too long", xff, from(proxy, f, "6.6.6.6,"+long), "10.0.0.1"},
		{"longest at the start", xff, from(proxy, f, long[1:]), client},
		{"too long at the start", xff, from(proxy, f, long), "10.0.0.1"},
		{"32 addresses", xff, from(proxy, f, "6.6.6.6, "+client+strings.Repeat(", 10.0.0.2", 31)), client},
		{"33 addresses", xff, from(proxy, f, client+strings.Repeat(", 10.0.0.2", 32)), "10.0.0.2"},

		{"count, one", one, from("198.51.100.1:1", f, "6.6.6.6, "+client), client},
		{"count, one, does not look at who it is", one, from(proxy, f, client+", 10.0.0.2"), "10.0.0.2"},
		{"count, two", two, from("198.51.100.1:1", f, "6.6.6.6, "+client+", 198.51.100.2"), client},
		{"count, two, on two lines", two, from("198.51.100.1:1", f, "6.6.6.6, "+client, f, "198.51.100.2"), client},
		{"count, two, only one there", two, from("198.51.100.1:1", f, "198.51.100.2"), "198.51.100.2"},
		{"count, two, the second malformed", two, from("198.51.100.1:1", f, "6.6.6.6, x, 198.51.100.2"), "198.51.100.2"},
		{"count, two, the second empty", two, from("198.51.100.1:1", f, "6.6.6.6,, 198.51.100.2"), "198.51.100.2"},
		{"count, none there", two, from("198.51.100.1:1"), "198.51.100.1"},
		{"count, peer on a Unix socket", one, from("@", f, "6.6.6.6, "+client), client},
		{"count, Unix socket and no header", one, from("@"), ""},
		{"count, Unix socket and malformed", one, from("", f, "6.6.6.6, x"), ""},

		{"single", real, from(proxy, "X-Real-IP", client), client},
		{"single with port", real, from(proxy, "X-Real-IP", client+":80"), client},
		{"single that is a proxy's", real, from(proxy, "X-Real-IP", "10.0.0.2"), "10.0.0.2"},
		{"single, missing", real, from(proxy, f, client), "10.0.0.1"},
		{"single, empty", real, from(proxy, "X-Real-IP", ""), "10.0.0.1"},
		{"single, malformed", real, from(proxy, "X-Real-IP", "x"), "10.0.0.1"},
		{"single, two in a line", real, from(proxy, "X-Real-IP", "6.6.6.6, "+client), "10.0.0.1"},
		{"single, two lines", real, from(proxy, "X-Real-IP", "6.6.6.6", "X-Real-IP", client), "10.0.0.1"},
		{"single, the same twice", real, from(proxy, "X-Real-IP", client, "X-Real-IP", client), "10.0.0.1"},
		{"single by count", realByCount, from("198.51.100.1:1", "X-Real-IP", client), client},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := keyOf(c.by, c.r)
			if got != c.want || (err == nil) != (c.want != "") {
				t.Fatalf("key %q, error %v; want %q", got, err, c.want)
			}
		})
	}
}
