// Package providers shows clients of well-known APIs that stay within their limits, ready
// to copy. docs/providers.md lists the figures and their year: most depend on your plan.
//
// Each function takes the store that all processes share, the API's token, and the
// RoundTripper for the requests; nil is http.DefaultTransport. Limiters have the
// provider's names for its limits, so that a refusal slows the right one down.
package providers

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/upstream"
)

// level returns a level of a Transport, with a limiter of its own.
func level(store weir.Store, name string, key weir.KeyFunc, limits ...weir.Limit) (weir.TransportLevel, error) {
	l, err := weir.New(weir.Config{Name: name, Store: store, Limits: limits})
	return weir.TransportLevel{Limiter: l, Key: key}, err
}

// newClient returns a client for one host, which waits for its slots. Levels are in order
// from narrow to wide.
func newClient(host string, auth header, base http.RoundTripper, levels ...weir.TransportLevel) (*http.Client, error) {
	first := levels[0]
	t, err := weir.NewTransport(weir.TransportConfig{
		Limiter: first.Limiter, Key: first.Key, Cost: first.Cost, SkipNoKey: first.SkipNoKey, Settle: first.Settle,
		Levels: levels[1:], Base: base, Upstream: &upstream.Reader{Bodies: true},
		MaxWait: 5 * time.Minute, // a pause for a secondary limit takes a minute
	})
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: authorized{t, host, auth}}, nil
}

// header is a header with a token.
type header struct{ name, value string }

func bearer(token string) header { return header{"Authorization", "Bearer " + token} }

// authorized adds a header to the requests for one host. A redirect to another host does
// not get it.
type authorized struct {
	base http.RoundTripper
	host string
	auth header
}

func (a authorized) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host == a.host {
		req = req.Clone(req.Context())
		req.Header.Set(a.auth.name, a.auth.value)
	}
	return a.base.RoundTrip(req)
}

// perToken returns a key for each host and token.
func perToken(header string) weir.KeyFunc {
	return weir.KeyJoin(weir.KeyHost(), weir.KeyAPIKey(header, nil))
}

// usage returns a Settle that adds up the numbers after some fields at the end of a body.
// A refusal costs 0.
func usage(fields ...string) weir.SettleFunc {
	return func(resp *http.Response, end *weir.BodyEnd) (int64, bool) {
		if resp.StatusCode == http.StatusTooManyRequests {
			return 0, true
		}
		if end == nil {
			return 0, false
		}
		total, found := int64(0), false
		for _, field := range fields {
			i := bytes.LastIndex(end.Tail, []byte(`"`+field+`":`))
			if i < 0 {
				continue
			}
			text := strings.TrimLeft(string(end.Tail[i+len(field)+3:]), " ")
			digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
			if n, err := strconv.ParseInt(text[:digits], 10, 64); err == nil {
				total, found = total+n, true
			}
		}
		return total, found
	}
}

// promptTokens estimates the tokens of a request: four bytes each.
func promptTokens(r *http.Request) int64 { return max(r.ContentLength, 0)/4 + 1 }
