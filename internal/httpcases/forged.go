package httpcases

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// The address of the client of forged requests, and the address of its victim.
const (
	forgerIP = "198.51.100.9"
	victimIP = "203.0.113.77"
)

// forgeries are ways in which a client takes a new or another identity with each request.
// The proxy in between is the test's end of the connection.
var forgeries = []struct {
	name   string
	header string // that the proxy writes; empty: the client is connected itself
	hops   int    // 0: the proxy is known by its address
	lines  func(n int) []string
}{
	{"rotating X-Forwarded-For", "X-Forwarded-For", 0, func(n int) []string {
		return []string{"X-Forwarded-For: " + other(n) + ", " + forgerIP}
	}},
	{"rotating X-Forwarded-For, hops counted", "X-Forwarded-For", 1, func(n int) []string {
		return []string{"X-Forwarded-For: " + other(n) + ", " + victimIP + ", " + forgerIP}
	}},
	{"doubling X-Forwarded-For", "X-Forwarded-For", 0, func(n int) []string {
		return []string{"x-forwarded-for: " + other(n), "X-FORWARDED-FOR: " + victimIP, "X-Forwarded-For: " + forgerIP}
	}},
	{"growing X-Forwarded-For", "X-Forwarded-For", 0, func(n int) []string {
		return []string{"X-Forwarded-For: " + strings.Repeat(victimIP+",", n%50) + "127.0.0.1, " + forgerIP}
	}},
	{"ports and mapped addresses", "X-Forwarded-For", 0, func(n int) []string {
		said := []string{forgerIP, fmt.Sprintf("%s:%d", forgerIP, n), "::ffff:" + forgerIP, fmt.Sprintf("[::ffff:%s]:%d", forgerIP, n)}
		return []string{"X-Forwarded-For: " + other(n) + ", " + said[n%len(said)]}
	}},
	{"forged Forwarded", "Forwarded", 0, func(n int) []string {
		return []string{fmt.Sprintf(`Forwarded: for="%s`, other(n)), "Forwarded: for=" + forgerIP}
	}},
	{"forged Forwarded with an escape", "Forwarded", 0, func(n int) []string {
		return []string{fmt.Sprintf(`Forwarded: for=%s;host="\`, other(n)) + ", For=" + forgerIP + ";proto=http"}
	}},
	{"IPv6 neighbours", "X-Forwarded-For", 0, func(n int) []string {
		return []string{fmt.Sprintf("X-Forwarded-For: %s, 2001:db8:1:2:%x::%x", other(n), n, n)}
	}},
	{"a second X-Real-IP", "X-Real-Ip", 0, func(n int) []string {
		return []string{"X-Real-IP: " + other(n), "X-Real-IP: " + forgerIP}
	}},
	{"headers that are not read", "X-Forwarded-For", 0, func(n int) []string {
		return append(everyHeader(n)[1:], "X-Forwarded-For: "+forgerIP)
	}},
	{"not through the proxy", "X-Forwarded-For", -1, everyHeader},
	{"no proxy", "", 0, everyHeader},
}

// other is one of many addresses.
func other(n int) string { return fmt.Sprintf("6.6.%d.%d", n/256, n%256) }

func everyHeader(n int) []string {
	lines := []string{"X-Forwarded-For: " + other(n)}
	for _, name := range []string{"X-Real-IP", "CF-Connecting-IP", "True-Client-IP", "X-Client-IP", "Fly-Client-IP", "X-Appengine-Remote-Addr"} {
		lines = append(lines, name+": "+other(n))
	}
	return append(lines, "Forwarded: for="+other(n), "X-User: "+other(n), "Via: "+other(n))
}

// testForged checks over real connections that a client has one bucket, whatever it
// writes, and that its victim has another.
func testForged(t *testing.T, mount Mount) {
	const limit = 5
	for _, f := range forgeries {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			from := weir.ClientIP{Header: f.header, Hops: f.hops}
			switch {
			case f.hops < 0:
				from.Hops, from.Trusted = 0, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
			case f.header != "" && f.hops == 0:
				from.Trusted = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
			}
			key, err := weir.KeyClientIP(from)
			must(t, err)
			cfg := middleware.Config{Limiter: NewLimiter(t, newStore(), weir.Per(limit, 24*time.Hour)), Key: key}
			srv := httptest.NewServer(mustMount(t, mount, cfg, http.HandlerFunc(handler)))
			t.Cleanup(srv.Close)
			c := dial(t, srv)
			admitted, requests := 0, 100
			if strings.HasPrefix(f.name, "rotating") {
				requests = 1000
			}
			for n := range requests {
				if c.get(f.lines(n)...) == http.StatusOK {
					admitted++
				}
			}
			if admitted != limit {
				t.Errorf("%d admitted, want %d: not one bucket", admitted, limit)
			}
			victim := victimIP
			if f.header == "Forwarded" {
				victim = "for=" + victim
			}
			if f.header != "" && f.hops >= 0 && c.get(f.header+": "+victim) != http.StatusOK {
				t.Error("the victim is locked out")
			}
		})
	}
}

// wire is a connection on which requests are written as they stand.
type wire struct {
	*testing.T
	conn net.Conn
	from *bufio.Reader
}

func dial(t *testing.T, srv *httptest.Server) *wire {
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &wire{t, conn, bufio.NewReader(conn)}
}

// get returns the status that a request with these header lines gets.
func (c *wire) get(lines ...string) int { return c.send(http.MethodGet, "", lines...) }

// send is get with another method and a body as it stands.
func (c *wire) send(method, body string, lines ...string) int {
	c.Helper()
	if _, err := fmt.Fprintf(c.conn, "%s /things HTTP/1.1\r\nHost: a\r\n%s\r\n\r\n%s", method, strings.Join(lines, "\r\n"), body); err != nil {
		c.Fatal(err)
	}
	resp, err := http.ReadResponse(c.from, nil)
	must(c, err)
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		c.Fatal(err)
	}
	return resp.StatusCode
}
