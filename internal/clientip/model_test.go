package clientip_test

import (
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/goweir/weir/internal/clientip"
)

// A model of Client and Key that shares nothing with it: regular expressions for
// the grammars, package net for the addresses, and no care for speed.

var (
	modelHop = regexp.MustCompile(`^(?:([0-9.]+)|\[([0-9A-Fa-f.:]*:[0-9A-Fa-f.:]*)(%[^\]]+)?\])(?::([0-9]{1,5}|_[!#-'*+\-.^_` + "`" + `|~0-9A-Za-z]+))?$`)
	modelV6  = regexp.MustCompile(`^([0-9A-Fa-f.:]*:[0-9A-Fa-f.:]*:[0-9A-Fa-f.:]*)(%.+)?$`)

	modelToken     = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
	modelValue     = "(?:[!#$%&'*+.^_`|~0-9A-Za-z:\\[\\]-]+|\"(?:[^\"\\\\]|\\\\.)*\")"
	modelPair      = modelToken + "=" + modelValue
	modelForwarded = regexp.MustCompile(`(?s)^[ \t]*(?:` + modelPair + `)?(?:[ \t]*;[ \t]*(?:` + modelPair + `)?)*[ \t]*$`)
	modelPairs     = regexp.MustCompile(`(?s)(` + modelToken + `)=(` + modelValue + `)`)
	modelEscape    = regexp.MustCompile(`(?s)\\(.)`)
)

// modelParse returns the address in a hop, or nil.
func modelParse(hop string) net.IP {
	if m := modelHop.FindStringSubmatch(hop); m != nil {
		if port, err := strconv.Atoi(m[4]); err == nil && port > 65535 {
			return nil
		}
		ip := net.ParseIP(m[1] + m[2])
		return ip
	}
	if m := modelV6.FindStringSubmatch(hop); m != nil {
		return net.ParseIP(m[1])
	}
	return nil
}

// modelFor returns the parameter for of a well-formed element, or "".
func modelFor(element string) string {
	var found []string
	for _, m := range modelPairs.FindAllStringSubmatch(element, -1) {
		if strings.EqualFold(m[1], "for") {
			value := m[2]
			if strings.HasPrefix(value, `"`) {
				value = modelEscape.ReplaceAllString(value[1:len(value)-1], "$1")
			}
			found = append(found, value)
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// modelHops returns the text of each hop in a line, the nearest first. A malformed
// hop is "" and the last.
func modelHops(header, line string) (hops []string) {
	if header == "X-Forwarded-For" {
		for _, hop := range strings.Split(line, ",") {
			hops = append([]string{strings.Trim(hop, " \t")}, hops...)
		}
		return hops
	}
	// The nearest element is the shortest well-formed end after a comma.
	for i := len(line); i >= 0; i-- {
		if i > 0 && line[i-1] != ',' {
			continue
		}
		if modelForwarded.MatchString(line[i:]) {
			hops = []string{modelFor(line[i:])}
			if i > 0 {
				hops = append(hops, modelHops(header, line[:i-1])...)
			}
			return hops
		}
	}
	return []string{""}
}

// modelKey returns the key of a request that came from peer.
func modelKey(header string, trusted func(n int, ip net.IP) bool, peer net.IP, lines []string) string {
	var hops []string
	for _, line := range lines {
		hops = append(modelHops(header, line), hops...)
	}
	ip := peer
	for n, hop := range hops {
		next := modelParse(hop)
		if !trusted(n, ip) || next == nil {
			break
		}
		ip = next
	}
	if ip4 := ip.To4(); ip4 != nil {
		return ip4.String()
	}
	if ip.Mask(net.CIDRMask(96, 128)).Equal(net.ParseIP("64:ff9b::")) {
		return ip[12:].String()
	}
	return ip.Mask(net.CIDRMask(64, 128)).String() + "/64"
}

// FuzzClient compares two header lines with the model. A trusted proxy wrote the
// second line.
func FuzzClient(f *testing.F) {
	for _, s := range []string{
		client, "10.0.0.2", "6.6.6.6, 203.0.113.9:80, 10.0.0.2", "[2001:db8::1]:80,[fe80::1%lo]", "64:ff9b::1.2.3.4, 64:ff9b::10.0.0.2", "::ffff:10.0.0.1", "1.2.3.4,,", " , ",
		"for=" + client, `for="[2001:db8::1]:_x";by="a,b\"",For=10.0.0.2`, `for="a`, `for=1.2.3.4;x="\\",FOR="10.\0.0.1"`,
		`a=",for=10.0.0.3";for=10.0.0.1;;`, "for=unknown,for=10.1.1.1", `x="a,x=";z="`, `for=1.2.3.4",for=10.0.0.1;a="\"`, "for=10.0.0.1:70000",
	} {
		f.Add(client, s)
		f.Add(s, "10.0.0.3")
		f.Add(s, "for=10.0.0.3")
	}
	_, ten, err := net.ParseCIDR("10.0.0.0/8")
	if err != nil {
		f.Fatal(err)
	}
	trusted := func(_ int, ip net.IP) bool { return ten.Contains(ip) }
	peer := net.ParseIP("10.0.0.1")
	f.Fuzz(func(t *testing.T, first, second string) {
		if len(first)+len(second) > 1024 || strings.Count(first+second, ",") > 29 {
			return // the bounds have tests of their own
		}
		lines := []string{first, second}
		for _, header := range []string{"X-Forwarded-For", "Forwarded"} {
			for hops := range 4 {
				by, trusts := clientip.Proxies{Header: header, Hops: hops}, func(n int, _ net.IP) bool { return n < hops }
				if hops == 0 {
					by.Trusted, trusts = networks("10.0.0.0/8"), trusted
				}
				r := from(proxy)
				r.Header[header] = lines
				got, err := keyOf(by, r)
				if want := modelKey(header, trusts, peer, lines); got != want || err != nil {
					t.Errorf("%s %q, %d hops: key %q, error %v; by the model %q", header, lines, hops, got, err, want)
				}
			}
		}
	})
}

func BenchmarkClient(b *testing.B) {
	for _, c := range []struct{ name, header, text string }{
		{"List", "X-Forwarded-For", "6.6.6.6, " + client + ", 10.0.0.2"},
		{"Forwarded", "Forwarded", "for=6.6.6.6, for=" + client + ";proto=https, for=10.0.0.2"},
		{"Huge", "X-Forwarded-For", strings.Repeat("10.0.0.2,", 100_000)},
		{"HugeQuoted", "Forwarded", strings.Repeat(`"\`, 500_000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			by := clientip.Proxies{Header: c.header, Trusted: networks("10.0.0.0/8")}
			r := from(proxy)
			r.Header[c.header] = []string{c.text}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := keyOf(by, r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
