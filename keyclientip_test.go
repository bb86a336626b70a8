package weir_test

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/goweir/weir"
)

func prefixes(texts ...string) (ps []netip.Prefix) {
	for _, text := range texts {
		ps = append(ps, netip.MustParsePrefix(text))
	}
	return ps
}

func clientIP(t testing.TB, cfg weir.ClientIP) weir.KeyFunc {
	t.Helper()
	f, err := weir.KeyClientIP(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func from(remoteAddr string, header ...string) *http.Request {
	r := keyRequest(header...)
	r.RemoteAddr = remoteAddr
	return r
}

const (
	proxy  = "10.0.0.1:4711" // a trusted peer
	client = "203.0.113.9"
)

func TestKeyClientIPConfig(t *testing.T) {
	t.Parallel()
	private := prefixes("10.0.0.0/8")
	for _, c := range []struct {
		name  string
		cfg   weir.ClientIP
		field string // empty: valid
	}{
		{"nobody is trusted", weir.ClientIP{}, ""},
		{"networks", weir.ClientIP{Header: "x-forwarded-for", Trusted: private}, ""},
		{"count", weir.ClientIP{Header: "Forwarded", Hops: 32}, ""},
		{"count and an empty list", weir.ClientIP{Header: "Forwarded", Hops: 1, Trusted: []netip.Prefix{}}, ""},
		{"whole IPv6 addresses", weir.ClientIP{IPv6Bits: 128}, ""},
		{"mapped network", weir.ClientIP{Header: "Forwarded", Trusted: prefixes("::ffff:10.0.0.0/104")}, ""},
		{"both", weir.ClientIP{Header: "Forwarded", Hops: 1, Trusted: private}, "ClientIP.Hops"},
		{"count below 0", weir.ClientIP{Header: "Forwarded", Hops: -1}, "ClientIP.Hops"},
		{"count too high", weir.ClientIP{Header: "Forwarded", Hops: 33}, "ClientIP.Hops"},
		{"networks without header", weir.ClientIP{Trusted: private}, "ClientIP.Header"},
		{"count without header", weir.ClientIP{Hops: 1}, "ClientIP.Header"},
		{"bad header", weir.ClientIP{Header: "X Forwarded For", Hops: 1}, "ClientIP.Header"},
		{"two headers", weir.ClientIP{Header: "Forwarded,X-Forwarded-For", Hops: 1}, "ClientIP.Header"},
		{"host", weir.ClientIP{Header: "host", Hops: 1}, "ClientIP.Header"},
		{"header without anybody to write it", weir.ClientIP{Header: "Forwarded"}, "ClientIP.Trusted"},
		{"invalid network", weir.ClientIP{Header: "Forwarded", Trusted: make([]netip.Prefix, 1)}, "ClientIP.Trusted[0]"},
		{"everybody", weir.ClientIP{Header: "Forwarded", Trusted: prefixes("10.0.0.0/8", "0.0.0.0/0")}, "ClientIP.Trusted[1]"},
		{"everybody with IPv6", weir.ClientIP{Header: "Forwarded", Trusted: prefixes("::/0")}, "ClientIP.Trusted[0]"},
		{"everybody, mapped", weir.ClientIP{Header: "Forwarded", Trusted: prefixes("::ffff:0.0.0.0/96")}, "ClientIP.Trusted[0]"},
		{"more than the mapped addresses", weir.ClientIP{Header: "Forwarded", Trusted: prefixes("::ffff:0.0.0.0/95")}, "ClientIP.Trusted[0]"},
		{"bits below 0", weir.ClientIP{IPv6Bits: -1}, "ClientIP.IPv6Bits"},
		{"more bits than there are", weir.ClientIP{IPv6Bits: 129}, "ClientIP.IPv6Bits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, err := weir.KeyClientIP(c.cfg)
			var wrong *weir.ConfigError
			switch {
			case c.field == "" && (err != nil || f == nil):
				t.Errorf("error %v", err)
			case c.field != "" && (!errors.As(err, &wrong) || wrong.Field != c.field || f != nil):
				t.Errorf("error %v, want one that names %s", err, c.field)
			}
		})
	}
}

func TestKeyClientIPTrust(t *testing.T) {
	t.Parallel()
	networks := prefixes("10.0.0.0/8", "fd00::/8", "::ffff:192.0.2.0/120")
	none := clientIP(t, weir.ClientIP{})
	xff := clientIP(t, weir.ClientIP{Header: "X-Forwarded-For", Trusted: networks})
	one := clientIP(t, weir.ClientIP{Header: "X-Forwarded-For", Hops: 1})
	two := clientIP(t, weir.ClientIP{Header: "X-Forwarded-For", Hops: 2})
	real := clientIP(t, weir.ClientIP{Header: "x-real-ip", Trusted: networks})
	realByCount := clientIP(t, weir.ClientIP{Header: "X-Real-IP", Hops: 2})
	const f = "X-Forwarded-For"
	long := strings.Repeat(" ", 1025-len(client)) + client
	for _, c := range []struct {
		name string
		key  weir.KeyFunc
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
			got, err := c.key(c.r)
			if got != c.want || (err == nil) != (c.want != "") {
				t.Fatalf("key %q, error %v; want %q", got, err, c.want)
			}
			for _, kind := range []error{weir.ErrNoKey, weir.ErrAmbiguousKey, weir.ErrMalformedKey} {
				if errors.Is(err, kind) {
					t.Errorf("%v is %v", err, kind)
				}
			}
		})
	}
}

// TestKeyClientIPHop is about what one element of each header says. The key is
// that of the peer when nothing.
func TestKeyClientIPHop(t *testing.T) {
	t.Parallel()
	const v6 = "2001:db8:1:2::/64"
	for _, c := range []struct{ name, header, text, want string }{
		{"IPv4", "X-Forwarded-For", client, client},
		{"spaces and tabs", "X-Forwarded-For", "\t " + client + " \t", client},
		{"port", "X-Forwarded-For", client + ":4711", client},
		{"IPv6", "X-Forwarded-For", "2001:db8:1:2:3:4:5:6", v6},
		{"IPv6 in upper case", "X-Forwarded-For", "2001:DB8:1:2::A", v6},
		{"IPv6 in brackets", "X-Forwarded-For", "[2001:db8:1:2::6]", v6},
		{"IPv6 with port", "X-Forwarded-For", "[2001:db8:1:2::6]:4711", v6},
		{"IPv6 with zone", "X-Forwarded-For", "fe80::1%eth0", "fe80::/64"},
		{"IPv6 with zone and port", "X-Forwarded-For", "[fe80::1%eth0]:80", "fe80::/64"},
		{"mapped", "X-Forwarded-For", "::ffff:203.0.113.9", client},
		{"mapped in hexadecimal", "X-Forwarded-For", "::ffff:cb00:7109", client},
		{"mapped with port", "X-Forwarded-For", "[::ffff:203.0.113.9]:80", client},
		{"mapped with zone", "X-Forwarded-For", "::ffff:203.0.113.9%eth0", client},
		{"highest port", "X-Forwarded-For", client + ":65535", client},
		{"port too high", "X-Forwarded-For", client + ":65536", ""},
		{"port too long", "X-Forwarded-For", client + ":000080", ""},
		{"port below 0", "X-Forwarded-For", client + ":-1", ""},
		{"no port after the colon", "X-Forwarded-For", client + ":", ""},
		{"port that is a name", "X-Forwarded-For", client + ":http", ""},
		{"port alone", "X-Forwarded-For", ":80", ""},
		{"no closing bracket", "X-Forwarded-For", "[2001:db8::6", ""},
		{"no opening bracket", "X-Forwarded-For", "2001:db8::6]", ""},
		{"text after the bracket", "X-Forwarded-For", "[2001:db8::6]80", ""},
		{"empty brackets", "X-Forwarded-For", "[]:80", ""},
		{"IPv4 in brackets", "X-Forwarded-For", "[203.0.113.9]", ""},
		{"IPv4 with zone", "X-Forwarded-For", client + "%eth0", ""},
		{"no zone after the percent", "X-Forwarded-For", "fe80::1%", ""},
		{"leading zero", "X-Forwarded-For", "203.0.113.09", ""},
		{"three parts", "X-Forwarded-For", "203.0.113", ""},
		{"number", "X-Forwarded-For", "3405803785", ""},
		{"network", "X-Forwarded-For", client + "/32", ""},
		{"quotes", "X-Forwarded-For", `"` + client + `"`, ""},
		{"two separated by space", "X-Forwarded-For", "6.6.6.6 " + client, ""},
		{"element of Forwarded", "X-Forwarded-For", "for=" + client, ""},
		{"Unix socket", "X-Forwarded-For", "unix:", ""},
		{"line break", "X-Forwarded-For", client + "\n", ""},

		{"for", "Forwarded", "for=" + client, client},
		{"for in quotes", "Forwarded", `for="203.0.113.9"`, client},
		{"for with port", "Forwarded", `for="203.0.113.9:4711"`, client},
		{"for with obfuscated port", "Forwarded", `for="203.0.113.9:_a.B-9"`, client},
		{"for with nothing as port", "Forwarded", `for="203.0.113.9:_"`, ""},
		{"port without quotes", "Forwarded", "for=203.0.113.9:4711", client},
		{"for IPv6", "Forwarded", `for="[2001:db8:1:2::6]"`, v6},
		{"for IPv6 with port", "Forwarded", `for="[2001:DB8:1:2::6]:4711"`, v6},
		{"for IPv6 without quotes", "Forwarded", "for=[2001:db8:1:2::6]:80", v6},
		{"for IPv6 without brackets", "Forwarded", `for="2001:db8:1:2::6"`, v6},
		{"for in another case", "Forwarded", "For=" + client, client},
		{"for in upper case", "Forwarded", "FOR=" + client, client},
		{"escapes", "Forwarded", `for="\203.0.11\3.\9"`, client},
		{"before others", "Forwarded", "for=" + client + ";proto=https;by=10.0.0.1", client},
		{"after others", "Forwarded", "proto=https;by=10.0.0.1;for=" + client, client},
		{"spaces around semicolons", "Forwarded", " proto=https ; for=" + client + "\t;\tby=6.6.6.6 ", client},
		{"empty parameters", "Forwarded", ";;for=" + client + ";", client},
		{"parameters of one's own", "Forwarded", "x-for=6.6.6.6;for=" + client + ";forx=6.6.6.6", client},
		{"comma in quotes", "Forwarded", `for=203.0.113.9;host="a,for=6.6.6.6"`, client},
		{"semicolon in quotes", "Forwarded", `host="a;for=6.6.6.6";for=203.0.113.9`, client},
		{"escaped quote", "Forwarded", `for=203.0.113.9;host="a\",for=6.6.6.6"`, client},
		{"escaped backslash at the end of quotes", "Forwarded", `host="a\\";for=203.0.113.9;by="b,\\"`, client},
		{"all kinds of escapes", "Forwarded", `host="\\\",\\\\\",";for=203.0.113.9;by="\\,\"\\\\"`, client},
		{"empty quotes beside it", "Forwarded", `host="";for=203.0.113.9`, client},
		{"unknown", "Forwarded", "for=unknown", ""},
		{"unknown with port", "Forwarded", `for="unknown:80"`, ""},
		{"obfuscated", "Forwarded", "for=_hidden", ""},
		{"obfuscated in quotes", "Forwarded", `for="_SEVKISEK"`, ""},
		{"no for", "Forwarded", "proto=https;by=" + client, ""},
		{"for twice", "Forwarded", "for=6.6.6.6;for=" + client, ""},
		{"for twice in two cases", "Forwarded", "for=203.0.113.9;For=203.0.113.9", ""},
		{"empty for", "Forwarded", "for=", ""},
		{"empty for in quotes", "Forwarded", `for=""`, ""},
		{"no value", "Forwarded", "for", ""},
		{"no name", "Forwarded", "=" + client, ""},
		{"bare address", "Forwarded", client, ""},
		{"spaces around the equals sign", "Forwarded", "for = " + client, ""},
		{"space before the value", "Forwarded", "for= " + client, ""},
		{"text after quotes", "Forwarded", `for="203.0.113.9"x`, ""},
		{"space within", "Forwarded", "for=203.0.113.9 by=6.6.6.6", ""},
		{"quotes that do not close", "Forwarded", `for="203.0.113.9`, ""},
		{"quotes that do not open", "Forwarded", `for=203.0.113.9"`, ""},
		{"quotes closed by an escaped one", "Forwarded", `for="203.0.113.9\"`, ""},
		{"space in quotes", "Forwarded", `for="203.0.113.9 "`, ""},
		{"nothing", "Forwarded", "", ""},
		{"colon instead of equals sign", "Forwarded", "for:" + client, ""},
	} {
		t.Run(c.header+" "+c.name, func(t *testing.T) {
			t.Parallel()
			want := c.want
			if want == "" {
				want = "10.0.0.1"
			}
			f := clientIP(t, weir.ClientIP{Header: c.header, Trusted: prefixes("10.0.0.0/8")})
			for _, lines := range [][]string{{c.text}, {forgedFor[c.header] + "," + c.text}, {forgedFor[c.header], c.text}, {`for="` + "," + c.text}} {
				r := from(proxy)
				r.Header[c.header] = lines
				if got, err := f(r); got != want || err != nil {
					t.Errorf("%q: key %q, error %v; want %q", lines, got, err, want)
				}
			}
		})
	}
}

var forgedFor = map[string]string{"X-Forwarded-For": "6.6.6.6", "Forwarded": "for=6.6.6.6"}

func TestKeyClientIPPrefix(t *testing.T) {
	t.Parallel()
	for bits, want := range map[int]string{
		0: "2001:db8:aabb:ccdd::/64", 48: "2001:db8:aabb::/48", 56: "2001:db8:aabb:cc00::/56",
		64: "2001:db8:aabb:ccdd::/64", 128: "2001:db8:aabb:ccdd::1/128", 1: "::/1",
	} {
		f := clientIP(t, weir.ClientIP{Header: "X-Forwarded-For", Hops: 1, IPv6Bits: bits})
		for _, r := range []*http.Request{
			from("[2001:db8:aabb:ccdd::1]:80"),
			from(proxy, "X-Forwarded-For", "2001:db8:aabb:ccdd::1"),
		} {
			if got, err := f(r); got != want || err != nil {
				t.Errorf("%d bits: key %q, error %v; want %q", bits, got, err, want)
			}
		}
		if got, err := f(from(proxy, "X-Forwarded-For", "::ffff:192.0.2.7")); got != "192.0.2.7" || err != nil {
			t.Errorf("%d bits, mapped: key %q, error %v", bits, got, err)
		}
	}
}

func TestKeyClientIPKeepsItsConfig(t *testing.T) {
	t.Parallel()
	networks := prefixes("10.0.0.0/8")
	f := clientIP(t, weir.ClientIP{Header: "X-Forwarded-For", Trusted: networks})
	networks[0] = netip.MustParsePrefix("192.0.2.0/24")
	r := from(proxy, "X-Forwarded-For", "6.6.6.6, "+client, "X-Forwarded-For", "10.0.0.2")
	for range 2 { // the second time shows that the request was not changed
		if got, err := f(r); got != client || err != nil {
			t.Errorf("key %q, error %v; want %q", got, err, client)
		}
	}
}
