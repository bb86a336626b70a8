package dialects_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/dialects"
	"github.com/goweir/weir/weirtest"
)

func provider(tb testing.TB, dialect dialects.Dialect, limits []weir.Limit) *weirtest.Provider {
	tb.Helper()
	p, err := weirtest.NewProvider(weirtest.ProviderConfig{Limits: limits, Hook: dialect})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// get sends a request and returns its response, the body closed.
func get(tb testing.TB, p *weirtest.Provider) *http.Response {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, "http://api.test/", nil)
	if err != nil {
		tb.Fatal(err)
	}
	res, err := p.Transport().RoundTrip(req)
	if err != nil {
		tb.Fatal(err)
	}
	res.Body.Close()
	return res
}

// rateHeaders returns a response's headers about limits, by canonical names.
func rateHeaders(h http.Header) map[string]string {
	said := make(map[string]string)
	for name, values := range h {
		if lower := strings.ToLower(name); strings.Contains(lower, "limit") || strings.HasPrefix(lower, "retry-after") {
			said[name] = strings.Join(values, " | ")
		}
	}
	return said
}
