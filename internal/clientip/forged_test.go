package clientip_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/goweir/weir/internal/clientip"
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

// stateHop returns the text for a proxy's peer, in one of the ways that proxies
// have.
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

// TestClientIsWhomTheProxiesSaw sends forged lines through chains of proxies. Each
// proxy names its peer, so the test knows the client.
func TestClientIsWhomTheProxiesSaw(t *testing.T) {
	t.Parallel()
	trusted := networks("10.0.0.0/8", "192.168.0.0/16", "fd00::/8")
	outside := networks("203.0.113.0/24", "198.51.100.0/24", "2001:db8::/32")
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
		want, err := keyOf(clientip.Proxies{}, from(user.String()))
		if err != nil {
			t.Fatal(err)
		}
		settings := []clientip.Proxies{{Header: header, Trusted: trusted}}
		if proxies > 0 {
			settings = append(settings, clientip.Proxies{Header: header, Hops: proxies})
		}
		for _, by := range settings {
			if got, err := keyOf(by, r); got != want || err != nil {
				t.Fatalf("case %d: the client sent %q and the server got %s %q from %s: key %q, error %v; want %q (%+v)",
					n, sent, header, lines, r.RemoteAddr, got, err, want, by)
			}
		}
	}
}

// FuzzForged sends forged text to which a proxy appends: the key is the same as
// without the forged text.
func FuzzForged(f *testing.F) {
	for _, s := range []string{"6.6.6.6", `for="6.6.6.6`, `for=6.6.6.6;host="`, `\`, `"\`, "10.0.0.1,", strings.Repeat(`"\,`, 1000), strings.Repeat(" ", 2000)} {
		f.Add(s, client)
		f.Add(s, "2001:db8::1")
	}
	trusted := networks("10.0.0.0/8")
	proxies := map[string]clientip.Proxies{
		"X-Forwarded-For": {Header: "X-Forwarded-For", Trusted: trusted},
		"Forwarded":       {Header: "Forwarded", Trusted: trusted},
	}
	f.Fuzz(func(t *testing.T, forged, addr string) {
		user, err := netip.ParseAddr(addr)
		if err != nil || user.Zone() != "" || trusted[0].Contains(user.Unmap()) {
			return // a zone may hold commas
		}
		want, err := keyOf(clientip.Proxies{}, from(addr))
		if err != nil {
			t.Fatal(err)
		}
		for header, by := range proxies {
			said := addr
			if header == "Forwarded" {
				said = `host="a\",\\";for="[` + addr + `]"`
				if user.Is4() {
					said = "for=" + addr + `;host="a\",\\"`
				}
			}
			for _, lines := range [][]string{{forged, said}, {forged + "," + said}, {forged + ", " + said}} {
				r := from(proxy)
				r.Header[header] = lines
				if got, err := keyOf(by, r); got != want || err != nil {
					t.Errorf("%s %q: key %q, error %v; want %q", header, lines, got, err, want)
				}
			}
		}
	})
}
