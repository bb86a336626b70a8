package weirtest_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/weirtest"
)

func provider(tb testing.TB, cfg weirtest.ProviderConfig) *weirtest.Provider {
	tb.Helper()
	p, err := weirtest.NewProvider(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// request returns a request of a key.
func request(tb testing.TB, key string) *http.Request {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, "http://api.test/v1?q=1", nil)
	if err != nil {
		tb.Fatal(err)
	}
	req.Header.Set("X-Key", key)
	return req
}

// byKey counts by the header that request sets.
func byKey(r *http.Request) string { return r.Header.Get("X-Key") }

// do sends a request and returns its response, the body closed, and the body.
func do(tb testing.TB, rt http.RoundTripper, req *http.Request) (*http.Response, string) {
	tb.Helper()
	res, err := rt.RoundTrip(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return res, string(body)
}

// get sends a request of a key and returns its response, the body closed.
func get(tb testing.TB, rt http.RoundTripper, key string) *http.Response {
	tb.Helper()
	res, _ := do(tb, rt, request(tb, key))
	return res
}

// wantConfigError checks that err is a ConfigError of the field.
func wantConfigError(tb testing.TB, err error, field string) {
	tb.Helper()
	var ce *store.ConfigError
	if !errors.As(err, &ce) || ce.Field != field {
		tb.Errorf("error %v, want a ConfigError of %s", err, field)
		return
	}
	if ce.Want == "" || ce.Got == "" || !strings.HasPrefix(err.Error(), "weir: ") {
		tb.Errorf("error %q lacks the wanted or the found value", err)
	}
}
