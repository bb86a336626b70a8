package weir_test

import (
	"bufio"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/goweir/weir"
)

func TestKeyHost(t *testing.T) {
	t.Parallel()
	out := func(rawURL string) *http.Request {
		u, err := url.Parse(rawURL)
		if err != nil {
			t.Fatal(err)
		}
		return &http.Request{URL: u, Host: "another.example"}
	}
	in := func(host string, state *tls.ConnectionState) *http.Request {
		return &http.Request{URL: &url.URL{Path: "/x"}, Host: host, TLS: state, RequestURI: "/x"}
	}
	// As http.ReadRequest reads a request whose line has a whole URL.
	whole := func(target string, state *tls.ConnectionState) *http.Request {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader("GET " + target + " HTTP/1.1\r\nHost: another.example\r\n\r\n")))
		if err != nil {
			t.Fatal(err)
		}
		r.TLS = state
		return r
	}
	var cases []keyCase
	for _, c := range []struct {
		name string
		r    *http.Request
		want string
		err  error
	}{
		{"plain", out("http://api.example/v1?x=1"), "http://api.example", nil},
		{"upper case", out("HTTPS://API.Example/v1"), "https://api.example", nil},
		{"default port of https", out("https://api.example:443/"), "https://api.example", nil},
		{"default port of http", out("http://api.example:80/"), "http://api.example", nil},
		{"empty port", out("http://api.example:/"), "http://api.example", nil},
		{"the other default port", out("http://api.example:443/"), "http://api.example:443", nil},
		{"another port", out("https://api.example:8443/"), "https://api.example:8443", nil},
		{"user and password", out("https://ann:secret@api.example/"), "https://api.example", nil},
		{"a dot at the end", out("https://api.example./v1"), "https://api.example", nil},
		{"a dot and the default port", out("https://API.example.:443/"), "https://api.example", nil},
		{"a dot and an empty port", out("https://api.example.:/"), "https://api.example", nil},
		{"a dot and another port", out("https://api.example.:8443/"), "https://api.example:8443", nil},
		{"a dot alone", out("https://./"), "https://.", nil},
		{"IPv6", out("http://[2001:DB8::80]/"), "http://[2001:db8::80]", nil},
		{"IPv6 and default port", out("http://[2001:db8::80]:80/"), "http://[2001:db8::80]", nil},
		{"IPv6 and port", out("http://[2001:db8::80]:8080/"), "http://[2001:db8::80]:8080", nil},
		{"server, a dot at the end", in("api.example.:80", nil), "http://api.example", nil},
		{"server", in("API.example:80", nil), "http://api.example", nil},
		{"server with TLS", in("api.example:443", &tls.ConnectionState{}), "https://api.example", nil},
		{"server with TLS on port 80", in("api.example:80", &tls.ConnectionState{}), "https://api.example:80", nil},
		{"server without Host", in("", nil), "", weir.ErrNoKey},
		{"server, with a URL", whole("http://api.example/x", nil), "http://api.example", nil},
		{"server, with a URL of another scheme", whole("https://api.example/x", nil), "http://api.example", nil},
		{"server, with a URL of an invented scheme", whole("A1://API.example/x", nil), "http://api.example", nil},
		{"server, with a URL that has a user", whole("a1://ann@api.example/x", nil), "http://api.example", nil},
		{"server with TLS, with a URL", whole("http://api.example/x", &tls.ConnectionState{}), "https://api.example", nil},
		{"no URL", &http.Request{}, "", weir.ErrNoKey},
	} {
		cases = append(cases, keyCase{c.name, weir.KeyHost(), c.r, c.want, c.err})
	}
	runKeyCases(t, cases)
}

func TestKeyRoute(t *testing.T) {
	t.Parallel()
	route := func(method, pattern string) *http.Request {
		return &http.Request{Method: method, Pattern: pattern, URL: &url.URL{Path: "/items/17"}}
	}
	var cases []keyCase
	for _, c := range []struct {
		name string
		r    *http.Request
		want string
		err  error
	}{
		{"pattern with method", route("GET", "GET /items/{id}"), "GET /items/{id}", nil},
		{"HEAD on a pattern for GET", route("HEAD", "GET /items/{id}"), "GET /items/{id}", nil},
		{"tab after the method", route("GET", "GET\t/items/"), "GET\t/items/", nil},
		{"method of one's own in the pattern", route("PURGE", "PURGE /items/"), "PURGE /items/", nil},
		{"pattern without method", route("POST", "/items/"), "POST /items/", nil},
		{"pattern with host", route("PUT", "api.example/items/"), "PUT api.example/items/", nil},
		{"pattern with method and host", route("PUT", "PUT api.example/items/"), "PUT api.example/items/", nil},
		{"space in the path", route("GET", "/items/{id:[a z]}"), "GET /items/{id:[a z]}", nil},
		{"no method means GET", route("", "/items/"), "GET /items/", nil},
		{"invented method", route("XGET1", "/items/"), "OTHER /items/", nil},
		{"lower case is another method", route("get", "/items/"), "OTHER /items/", nil},
		{"no pattern", route("GET", ""), "", weir.ErrNoKey},
		{"blank pattern", route("GET", " "), "", weir.ErrNoKey},
	} {
		cases = append(cases, keyCase{c.name, weir.KeyRoute(), c.r, c.want, c.err})
	}
	runKeyCases(t, cases)
}

func TestKeyRouteInServeMux(t *testing.T) {
	t.Parallel()
	var got []string
	record := func(_ http.ResponseWriter, r *http.Request) {
		key, err := weir.KeyRoute()(r)
		if err != nil {
			t.Error(err)
		}
		got = append(got, key)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items/{id}", record)
	mux.HandleFunc("/", record)
	for _, path := range []string{"/items/1", "/items/2", "/else", "/elsewhere"} {
		mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
	}
	if want := []string{"GET /items/{id}", "GET /items/{id}", "GET /", "GET /"}; !slices.Equal(got, want) {
		t.Errorf("keys %q, want %q", got, want)
	}
}
