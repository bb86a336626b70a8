package weir_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/goweir/weir"
)

// keyRequest returns a request as a server sees it, with header lines as
// name, value, name, value.
func keyRequest(header ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

// keyCase is a request, and the key or the error that a KeyFunc returns for it. A nil
// err with an empty want stands for any key.
type keyCase struct {
	name string
	key  weir.KeyFunc
	r    *http.Request
	want string
	err  error
}

func runKeyCases(t *testing.T, cases []keyCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := c.key(c.r)
			if !errors.Is(err, c.err) || (err != nil) != (c.err != nil) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if err != nil && got != "" {
				t.Errorf("key %q beside error %v", got, err)
			}
			if c.want != "" && got != c.want {
				t.Errorf("key %q, want %q", got, c.want)
			}
		})
	}
}

func TestKeyStaticAndHeader(t *testing.T) {
	t.Parallel()
	user := weir.KeyHeader("x-user")
	runKeyCases(t, []keyCase{
		{"static", weir.KeyStatic("everyone"), keyRequest(), "everyone", nil},
		{"header", user, keyRequest("X-User", "ann"), "ann", nil},
		{"header stays as it is", user, keyRequest("X-User", "Ann, b|ob"), "Ann, b|ob", nil},
		{"header without surrounding space", user, keyRequest("X-User", " ann\t"), "ann", nil},
		{"header missing", user, keyRequest(), "", weir.ErrNoKey},
		{"header of another name", user, keyRequest("X-User-Id", "ann"), "", weir.ErrNoKey},
		{"header empty", user, keyRequest("X-User", ""), "", weir.ErrNoKey},
		{"header of spaces", user, keyRequest("X-User", "  "), "", weir.ErrNoKey},
		{"header twice", user, keyRequest("X-User", "ann", "X-User", "bob"), "", weir.ErrMalformedKey},
		{"header twice the same", user, keyRequest("X-User", "ann", "X-User", "ann"), "", weir.ErrMalformedKey},
		{"header once empty", user, keyRequest("X-User", "", "X-User", "bob"), "", weir.ErrMalformedKey},
		{"header as long as it may be", user, keyRequest("X-User", strings.Repeat("a", 1024)), strings.Repeat("a", 1024), nil},
		{"header longer than that", user, keyRequest("X-User", strings.Repeat("a", 1025)), "", weir.ErrMalformedKey},
		{"no header at all", user, &http.Request{}, "", weir.ErrNoKey},
		{"no name", weir.KeyHeader(""), keyRequest(), "", weir.ErrConfig},
		{"bad name", weir.KeyHeader("X User"), keyRequest(), "", weir.ErrConfig},
		{"bad name beyond ASCII", weir.KeyHeader("X-Üser"), keyRequest(), "", weir.ErrConfig},
		{"host", weir.KeyHeader("host"), keyRequest(), "", weir.ErrConfig},
	})
}

func TestKeyContext(t *testing.T) {
	t.Parallel()
	type userKey struct{}
	user := weir.KeyContext(func(ctx context.Context) (string, bool) {
		id, ok := ctx.Value(userKey{}).(string)
		return id, ok
	})
	with := func(v any) *http.Request {
		r := keyRequest()
		return r.WithContext(context.WithValue(r.Context(), userKey{}, v))
	}
	runKeyCases(t, []keyCase{
		{"user", user, with("u-1"), "u-1", nil},
		{"empty", user, with(""), "", weir.ErrNoKey},
		{"another type", user, with(1), "", weir.ErrNoKey},
		{"no user", user, keyRequest(), "", weir.ErrNoKey},
		{"nil function", weir.KeyContext(nil), with("u-1"), "", weir.ErrConfig},
	})
}

// The hashing functions are left to a benchmark: their pool drops at random
// under the race detector.
func TestKeyFuncsAllocateAtMostTheKey(t *testing.T) {
	r := keyRequest("X-User", "ann")
	r.Pattern = "/items/"
	for name, f := range map[string]weir.KeyFunc{
		"static": weir.KeyStatic("a"),
		"header": weir.KeyHeader("X-User"),
		"host":   weir.KeyHost(),
		"route":  weir.KeyRoute(),
		"IP":     weir.KeyRemoteIP(),
		"join":   weir.KeyJoin(weir.KeyStatic("a"), weir.KeyStatic("b")),
		"first":  weir.KeyFirst(weir.KeyHeader("X-Other"), weir.KeyStatic("b")),
	} {
		if n := testing.AllocsPerRun(1000, func() { _, _ = f(r) }); n > 1 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkKey(b *testing.B) {
	r := keyRequest("X-User", "ann", "X-Api-Key", "k-1", "Authorization", "Bearer abc")
	for _, c := range []struct {
		name string
		key  weir.KeyFunc
	}{
		{"Host", weir.KeyHost()},
		{"RemoteIP", weir.KeyRemoteIP()},
		{"APIKey", weir.KeyAPIKey("X-Api-Key", nil)},
		{"APIKeySecret", weir.KeyAPIKey("X-Api-Key", []byte("secret"))},
		{"Bearer", weir.KeyBearer([]byte("secret"))},
		{"Join", weir.KeyJoin(weir.KeyHeader("X-User"), weir.KeyHost())},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.key(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

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
