package upstream_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/goweir/weir/upstream"
)

// usual are the headers of a response without any about limits.
var usual = []string{
	"Content-Type", "application/json", "Content-Length", "1234", "Server", "nginx", "Cache-Control", "no-store", "Vary", "Accept-Encoding",
	"Strict-Transport-Security", "max-age=31536000", "X-Request-Id", "6f9d", "X-Content-Type-Options", "nosniff", "Etag", `"abc"`,
	"Connection", "keep-alive", "Content-Encoding", "gzip", "Link", "<https://a.test/?page=2>; rel=next",
}

func TestUsualResponseDoesNotAllocate(t *testing.T) {
	named := &upstream.Reader{Dialects: map[string]upstream.Dialect{
		"other.test": upstream.Common{}, "*.example.com": upstream.Fields{Limit: "X-Bapi-Limit", Remaining: "X-Bapi-Limit-Status"}}}
	for name, c := range map[string]struct {
		reader *upstream.Reader
		status int
		host   string
	}{
		"success":                        {new(upstream.Reader), 200, "api.test"},
		"refusal that says nothing":      {new(upstream.Reader), 429, "api.test"},
		"with dialects for other hosts":  {named, 200, "api.a-rather-long-name-of-a-host.test"},
		"with a dialect that says none":  {named, 200, "api.example.com"},
		"with a port, and another's one": {named, 200, "api.test:8443"},
	} {
		t.Run(name, func(t *testing.T) {
			resp := response(c.status, usual...)
			resp.Request = &http.Request{URL: &url.URL{Host: c.host}}
			if allocs := testing.AllocsPerRun(100, func() { c.reader.Read(resp, date) }); allocs != 0 {
				t.Errorf("%v allocations", allocs)
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	for _, c := range []struct {
		name    string
		headers []string
	}{
		{"nothing said", nil},
		{"Retry-After", []string{"Retry-After", "5"}},
		{"X-RateLimit", []string{"X-RateLimit-Limit", "30", "X-RateLimit-Remaining", "14", "X-RateLimit-Reset", "1655120964"}},
		{"draft 11", []string{"RateLimit-Policy", `"hour";q=1000;w=3600, "day";q=5000;w=86400`, "RateLimit", `"day";r=100;t=36000`}},
		{"OpenAI", []string{
			"x-ratelimit-limit-requests", "5000", "x-ratelimit-remaining-requests", "4999", "x-ratelimit-reset-requests", "12ms",
			"x-ratelimit-limit-tokens", "160000", "x-ratelimit-remaining-tokens", "16", "x-ratelimit-reset-tokens", "6m0s"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			resp := response(200, append(append([]string(nil), usual...), c.headers...)...)
			r := new(upstream.Reader)
			b.ReportAllocs()
			for b.Loop() {
				r.Read(resp, date)
			}
		})
	}
}
