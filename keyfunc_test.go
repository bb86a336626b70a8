package weir_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
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

// keyCase is a request and the key, or the error, that a KeyFunc returns for it. A
// nil err with an empty want means: any key.
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
		{"header twice", user, keyRequest("X-User", "ann", "X-User", "bob"), "", weir.ErrAmbiguousKey},
		{"header twice the same", user, keyRequest("X-User", "ann", "X-User", "ann"), "", weir.ErrAmbiguousKey},
		{"header once empty", user, keyRequest("X-User", "", "X-User", "bob"), "", weir.ErrAmbiguousKey},
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
		{"nobody", user, keyRequest(), "", weir.ErrNoKey},
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
