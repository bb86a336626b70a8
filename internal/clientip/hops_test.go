package clientip_test

import (
	"testing"

	"github.com/goweir/weir/internal/clientip"
)

// TestHop reads one element of each header. An empty want stands for the peer's
// own address.
func TestHop(t *testing.T) {
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
			by := clientip.Proxies{Header: c.header, Trusted: networks("10.0.0.0/8")}
			for _, lines := range [][]string{{c.text}, {forgedFor[c.header] + "," + c.text}, {forgedFor[c.header], c.text}, {`for="` + "," + c.text}} {
				r := from(proxy)
				r.Header[c.header] = lines
				if got, err := keyOf(by, r); got != want || err != nil {
					t.Errorf("%q: key %q, error %v; want %q", lines, got, err, want)
				}
			}
		})
	}
}

var forgedFor = map[string]string{"X-Forwarded-For": "6.6.6.6", "Forwarded": "for=6.6.6.6"}
