package weir_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
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

// forger returns header lines as a client may send them: addresses of others,
// bits of syntax, anything.
func forger(rnd *rand.Rand, victim string) []string {
	bits := []string{
		victim, "for=" + victim, `for="` + victim + `"`, "10.0.0.1", "for=10.0.0.1", "6.6.6.6", "unknown", "_x", "[", "]", "::1",
		"for=", "host=", "proto=https", ",", ", ", ";", `"`, `\`, `\"`, `\\`, "=", " ", "\t", ":", "%", "x", "\x00", "é",
	}
	var lines []string
	for range rnd.IntN(4) {
		var line strings.Builder
		for range rnd.IntN(12) {
			line.WriteString(bits[rnd.IntN(len(bits))])
		}
		lines = append(lines, line.String())
	}
	return lines
}

// stateHop returns what a proxy writes about the peer it was reached from, in
// one of the ways that proxies have.
func stateHop(rnd *rand.Rand, header string, peer netip.Addr) string {
	text := peer.String()
	bracketed := peer.Is6() && rnd.IntN(2) == 0
	port := rnd.IntN(2) == 0 && (bracketed || peer.Is4())
	if bracketed {
		text = "[" + text + "]"
	}
	if port {
		text += fmt.Sprint(":", rnd.IntN(65536))
	}
	if header == "X-Forwarded-For" {
		return text
	}
	if peer.Is6() || port || rnd.IntN(2) == 0 {
		text = `"` + text + `"`
	}
	pairs := []string{[]string{"for=", "For=", "FOR="}[rnd.IntN(3)] + text}
	for _, more := range []string{"proto=https", `host="a,for=6.6.6.6"`, `by="_\",for=6.6.6.6;\\"`, `x="\\"`} {
		if rnd.IntN(3) == 0 {
			pairs = append(pairs, more)
		}
	}
	rnd.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	return strings.Join(pairs, ";")
}

// randomAddr returns an address in a network, sometimes mapped into IPv6.
func randomAddr(rnd *rand.Rand, networks ...netip.Prefix) netip.Addr {
	p := networks[rnd.IntN(len(networks))]
	b := p.Addr().AsSlice()
	for i := p.Bits() / 8; i < len(b); i++ {
		b[i] = byte(rnd.Uint32())
	}
	addr, _ := netip.AddrFromSlice(b)
	if addr.Is4() && rnd.IntN(4) == 0 {
		addr = netip.AddrFrom16(addr.As16())
	}
	return addr
}

// TestKeyClientIPIsWhatTheProxiesSaw sends what clients forge through chains of
// proxies, each of which says whom it was reached from. The truth is known.
func TestKeyClientIPIsWhatTheProxiesSaw(t *testing.T) {
	t.Parallel()
	trusted := prefixes("10.0.0.0/8", "192.168.0.0/16", "fd00::/8")
	outside := prefixes("203.0.113.0/24", "198.51.100.0/24", "2001:db8::/32")
	const seed = 5
	rnd := rand.New(rand.NewPCG(seed, 0))
	for n := range 20_000 {
		header := []string{"X-Forwarded-For", "Forwarded"}[n%2]
		user := randomAddr(rnd, outside...)
		lines := forger(rnd, randomAddr(rnd, outside...).String())
		sent := strings.Join(lines, "|")
		proxies := rnd.IntN(5)
		peer := user
		for range proxies {
			said := stateHop(rnd, header, peer)
			switch {
			case len(lines) == 0 || rnd.IntN(2) == 0:
				lines = append(lines, said)
			default:
				lines[len(lines)-1] += []string{",", ", ", " ,\t"}[rnd.IntN(3)] + said
			}
			peer = randomAddr(rnd, trusted...)
		}
		r := from(netip.AddrPortFrom(peer, 80).String())
		r.Header[header] = lines
		want, err := weir.KeyRemoteIP()(from(user.String()))
		if err != nil {
			t.Fatal(err)
		}
		settings := []weir.ClientIP{{Header: header, Trusted: trusted}}
		if proxies > 0 {
			settings = append(settings, weir.ClientIP{Header: header, Hops: proxies})
		}
		for _, cfg := range settings {
			if got, err := clientIP(t, cfg)(r); got != want || err != nil {
				t.Fatalf("case %d: the client sent %q and the server got %s %q from %s: key %q, error %v; want %q (%+v)",
					n, sent, header, lines, r.RemoteAddr, got, err, want, cfg)
			}
		}
	}
}

// TestOneClientHasOneBucket rotates everything a client can choose.
func TestOneClientHasOneBucket(t *testing.T) {
	t.Parallel()
	trusted := prefixes("10.0.0.0/8")
	const victim = "203.0.113.77"
	// through returns the request of a client at addr that the nearest proxy
	// passes on, having appended to the header or overwritten it.
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
			limiter, err := weir.New(weir.Config{Store: store, Limits: []weir.Limit{weir.Per(most, 24*time.Hour)}})
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

// TestKeyClientIPBehindARealProxy has net/http's own proxy append, and the
// client's forged lines travel over the wire.
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
