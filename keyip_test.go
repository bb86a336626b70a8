package weir_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/localstore"
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

func TestKeyRemoteIP(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, addr, want string }{
		{"IPv4", "192.0.2.7:4711", "192.0.2.7"},
		{"IPv6", "[2001:db8:1:2:3:4:5:6]:4711", "2001:db8:1:2::/64"},
		{"zone", "[fe80::1%eth0]:4711", "fe80::/64"},
		{"mapped", "[::ffff:192.0.2.7]:4711", "192.0.2.7"},
		{"NAT64", "[64:ff9b::192.0.2.7]:4711", "192.0.2.7"},
		{"nothing", "", ""},
		{"Unix socket", "@", ""},
		{"name", "localhost:80", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := keyRequest("X-Forwarded-For", "203.0.113.9", "X-Real-Ip", "203.0.113.9", "Forwarded", "for=203.0.113.9")
			r.RemoteAddr = c.addr
			got, err := weir.KeyRemoteIP()(r)
			if got != c.want || (err == nil) != (c.want != "") {
				t.Fatalf("key %q, error %v; want %q", got, err, c.want)
			}
			if errors.Is(err, weir.ErrNoKey) || errors.Is(err, weir.ErrMalformedKey) {
				t.Errorf("%v would be taken for a request without identity", err)
			}
		})
	}
}

func TestKeyClientIPConfig(t *testing.T) {
	t.Parallel()
	private := prefixes("10.0.0.0/8")
	for _, c := range []struct {
		name  string
		cfg   weir.ClientIP
		field string // empty: valid
	}{
		{"no proxy is trusted", weir.ClientIP{}, ""},
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
		{"header without a proxy to write it", weir.ClientIP{Header: "Forwarded"}, "ClientIP.Trusted"},
		{"invalid network", weir.ClientIP{Header: "Forwarded", Trusted: make([]netip.Prefix, 1)}, "ClientIP.Trusted[0]"},
		{"everybody", weir.ClientIP{Header: "Forwarded", Trusted: prefixes("10.0.0.0/8", "0.0.0.0/0")}, "ClientIP.Trusted[1]"},
		{"every address, with IPv6", weir.ClientIP{Header: "Forwarded", Trusted: prefixes("::/0")}, "ClientIP.Trusted[0]"},
		{"every address, mapped", weir.ClientIP{Header: "Forwarded", Trusted: prefixes("::ffff:0.0.0.0/96")}, "ClientIP.Trusted[0]"},
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

func TestKeyClientIP(t *testing.T) {
	t.Parallel()
	trusted := prefixes("10.0.0.0/8", "::ffff:192.0.2.0/120")
	none := clientIP(t, weir.ClientIP{})
	list := clientIP(t, weir.ClientIP{Header: "x-forwarded-for", Trusted: trusted})
	hops := clientIP(t, weir.ClientIP{Header: "Forwarded", Hops: 1})
	single := clientIP(t, weir.ClientIP{Header: "X-Real-IP", Trusted: trusted})
	const f = "X-Forwarded-For"
	for _, c := range []struct {
		name string
		key  weir.KeyFunc
		r    *http.Request
		want string
	}{
		{"no proxy is trusted", none, from(proxy, f, client), "10.0.0.1"},
		{"untrusted peer", list, from("198.51.100.1:1", f, client), "198.51.100.1"},
		{"trusted peer", list, from(proxy, f, "6.6.6.6, "+client), client},
		{"trusted peer, network given mapped", list, from("192.0.2.7:1", f, client), client},
		{"trusted peer without header", list, from(proxy), "10.0.0.1"},
		{"peer that is no address", list, from("@", f, client), ""},
		{"count", hops, from("@", "Forwarded", "for=6.6.6.6, for="+client), client},
		{"count, malformed", hops, from("@", "Forwarded", "for=x"), ""},
		{"single", single, from(proxy, "X-Real-IP", client), client},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := c.key(c.r)
			if got != c.want || (err == nil) != (c.want != "") {
				t.Fatalf("key %q, error %v; want %q", got, err, c.want)
			}
			for _, kind := range []error{weir.ErrNoKey, weir.ErrMalformedKey} {
				if errors.Is(err, kind) {
					t.Errorf("%v is %v", err, kind)
				}
			}
		})
	}
}

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

// TestOneClientHasOneBucket rotates all parts of a request that a client can choose.
func TestOneClientHasOneBucket(t *testing.T) {
	t.Parallel()
	trusted := prefixes("10.0.0.0/8")
	const victim = "203.0.113.77"
	// through returns the request of a client at addr as the nearest proxy passes it on. The
	// proxy appends to the header or overwrites it.
	through := func(header, addr string, overwrite bool, lines ...string) *http.Request {
		r := from(proxy)
		if overwrite {
			lines = nil
		}
		said := addr
		if header == "Forwarded" {
			said = `for="[` + addr + `]"`
			if !strings.Contains(addr, ":") {
				said = "for=" + addr
			}
		}
		if n := len(lines); n > 0 {
			lines[n-1] += ", " + said
		} else {
			lines = []string{said}
		}
		r.Header[header] = lines
		return r
	}
	for _, c := range []struct {
		name, header string
		request      func(n int) *http.Request
	}{
		{"rotating X-Forwarded-For", "X-Forwarded-For", func(n int) *http.Request {
			return through("X-Forwarded-For", client, false, fmt.Sprintf("6.6.%d.%d", n/256, n%256))
		}},
		{"doubling X-Forwarded-For", "X-Forwarded-For", func(n int) *http.Request {
			return through("X-Forwarded-For", client, false, fmt.Sprintf("6.6.%d.%d", n/256, n%256), victim)
		}},
		{"naming a proxy", "X-Forwarded-For", func(n int) *http.Request {
			return through("X-Forwarded-For", client, false, victim+", 10.0.0.1")
		}},
		{"forged Forwarded", "Forwarded", func(n int) *http.Request {
			return through("Forwarded", client, false, fmt.Sprintf(`for="6.6.%d.%d`, n/256, n%256))
		}},
		{"forged Forwarded before an escape", "Forwarded", func(n int) *http.Request {
			return through("Forwarded", client, false, fmt.Sprintf(`for="6.6.%d.%d\`, n/256, n%256))
		}},
		{"other headers", "X-Forwarded-For", func(n int) *http.Request {
			r := through("X-Forwarded-For", client, false)
			for _, name := range []string{"Forwarded", "X-Real-Ip", "Cf-Connecting-Ip", "True-Client-Ip", "X-Client-Ip"} {
				r.Header[name] = []string{fmt.Sprintf("6.6.%d.%d", n/256, n%256)}
			}
			return r
		}},
		{"overwritten X-Real-IP", "X-Real-Ip", func(n int) *http.Request {
			return through("X-Real-Ip", client, true, fmt.Sprintf("6.6.%d.%d", n/256, n%256))
		}},
		{"doubling a header of one address", "X-Real-Ip", func(n int) *http.Request {
			r := through("X-Real-Ip", client, true)
			r.Header.Add("X-Real-Ip", fmt.Sprintf("6.6.%d.%d", n/256, n%256))
			return r
		}},
		{"IPv6 neighbours", "Forwarded", func(n int) *http.Request {
			return through("Forwarded", fmt.Sprintf("2001:db8:1:2::%x", n), false)
		}},
		{"not through the proxy", "X-Forwarded-For", func(n int) *http.Request {
			return from("198.51.100.9:1", "X-Forwarded-For", fmt.Sprintf("6.6.%d.%d", n/256, n%256))
		}},
		{"not through the proxy, naming one", "Forwarded", func(n int) *http.Request {
			return from("198.51.100.9:1", "Forwarded", fmt.Sprintf("for=6.6.%d.%d, for=10.0.0.1", n/256, n%256))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store, err := localstore.New(localstore.Config{})
			if err != nil {
				t.Fatal(err)
			}
			const most = 5
			limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: []weir.Limit{weir.Per(most, 24*time.Hour)}})
			if err != nil {
				t.Fatal(err)
			}
			key := clientIP(t, weir.ClientIP{Header: c.header, Trusted: trusted})
			allowed := func(r *http.Request) bool {
				k, err := key(r)
				if err != nil {
					t.Fatal(err)
				}
				d, err := limiter.Allow(context.Background(), k)
				if err != nil {
					t.Fatal(err)
				}
				return d.Allowed
			}
			admitted := 0
			for n := range 1000 {
				if allowed(c.request(n)) {
					admitted++
				}
			}
			if admitted != most {
				t.Errorf("%d admitted, want %d: not one bucket", admitted, most)
			}
			if !allowed(through(c.header, victim, false)) {
				t.Error("the victim is locked out")
			}
		})
	}
}

// TestKeyClientIPBehindARealProxy sends the client's forged lines over the wire
// to net/http's own proxy, which appends.
func TestKeyClientIPBehindARealProxy(t *testing.T) {
	t.Parallel()
	key := clientIP(t, weir.ClientIP{Header: "X-Forwarded-For", Hops: 1})
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k, err := key(r)
		fmt.Fprint(w, k, err)
	}))
	defer backend.Close()
	target, err := url.Parse(backend.URL)
	if err != nil {
		t.Fatal(err)
	}
	toBackend := &http.Transport{}
	defer toBackend.CloseIdleConnections()
	front := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
			r.SetXForwarded()
		},
		Transport: toBackend,
	})
	defer front.Close()
	for _, forged := range []string{"", "X-Forwarded-For: 6.6.6.6\r\n", "x-forwarded-for: 6.6.6.6\r\nX-FORWARDED-FOR: 7.7.7.7, \"\r\n", "X-Forwarded-For:\r\n"} {
		conn, err := net.Dial("tcp", front.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET / HTTP/1.0\r\nHost: a\r\n%s\r\n", forged)
		answer, err := io.ReadAll(conn)
		if err != nil {
			t.Error(err)
		}
		conn.Close()
		if _, body, _ := strings.Cut(string(answer), "\r\n\r\n"); body != "127.0.0.1<nil>" {
			t.Errorf("%q: %q", forged, answer)
		}
	}
}
