package weir_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
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

// keyCase is a request and what a KeyFunc makes of it. A nil err with an empty
// want means: any key.
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

var keyHashText = regexp.MustCompile(`^[A-Za-z0-9_-]{22}$`)

func TestKeyAPIKey(t *testing.T) {
	t.Parallel()
	plain, keyed := weir.KeyAPIKey("X-Api-Key", nil), weir.KeyAPIKey("x-api-key", []byte("s1"))
	long := strings.Repeat("k", 16<<10)
	runKeyCases(t, []keyCase{
		{"known answer", plain, keyRequest("X-Api-Key", "k-1"), "E8-0gI0fxmQlsmXZ4OxGYA", nil},
		{"known answer with secret", keyed, keyRequest("X-Api-Key", "k-1"), "Nu6nBZ2JiIFf93sJCAzNhA", nil},
		{"missing", plain, keyRequest(), "", weir.ErrNoKey},
		{"empty", keyed, keyRequest("X-Api-Key", ""), "", weir.ErrNoKey},
		{"twice", keyed, keyRequest("X-Api-Key", "k-1", "X-Api-Key", "k-2"), "", weir.ErrAmbiguousKey},
		{"longest", keyed, keyRequest("X-Api-Key", long), "", nil},
		{"longest and space around", keyed, keyRequest("X-Api-Key", " "+long+" "), "", nil},
		{"too long", keyed, keyRequest("X-Api-Key", long+"k"), "", weir.ErrMalformedKey},
		{"twice too long", keyed, keyRequest("X-Api-Key", long+"k", "X-Api-Key", long+"k"), "", weir.ErrAmbiguousKey},
		{"no name", weir.KeyAPIKey("", nil), keyRequest(), "", weir.ErrConfig},
	})

	secret := []byte("s1")
	mutated := weir.KeyAPIKey("X-Api-Key", secret)
	secret[0] = 'x'
	seen := map[string]string{}
	for _, c := range []struct {
		name string
		key  weir.KeyFunc
		r    *http.Request
	}{
		{"plain", plain, keyRequest("X-Api-Key", "k-1")},
		{"plain, another key", plain, keyRequest("X-Api-Key", "k-2")},
		{"plain, long", plain, keyRequest("X-Api-Key", long)},
		{"plain, longest but one", plain, keyRequest("X-Api-Key", long[1:])},
		{"secret", keyed, keyRequest("X-Api-Key", "k-1")},
		{"another secret", weir.KeyAPIKey("X-Api-Key", []byte("s2")), keyRequest("X-Api-Key", "k-1")},
		{"token", weir.KeyBearer(nil), keyRequest("Authorization", "Bearer k-1")},
		{"token and secret", weir.KeyBearer([]byte("s1")), keyRequest("Authorization", "Bearer k-1")},
	} {
		key, err := c.key(c.r)
		if err != nil || !keyHashText.MatchString(key) {
			t.Errorf("%s: key %q, error %v", c.name, key, err)
		}
		if other, ok := seen[key]; ok {
			t.Errorf("%s has the key of %s", c.name, other)
		}
		seen[key] = c.name
	}
	before, _ := keyed(keyRequest("X-Api-Key", "k-1"))
	if after, _ := mutated(keyRequest("X-Api-Key", "k-1")); after != before {
		t.Error("changing the caller's secret afterwards changed the key")
	}
}

func TestKeyBearer(t *testing.T) {
	t.Parallel()
	bearer := weir.KeyBearer([]byte("s"))
	const token = "aZ0-._~+/=="
	want, err := bearer(keyRequest("Authorization", "Bearer "+token))
	if err != nil {
		t.Fatal(err)
	}
	malformed := weir.ErrMalformedKey
	for _, c := range []struct {
		name  string
		lines []string
		err   error
	}{
		{"lower case", []string{"bearer " + token}, nil},
		{"upper case", []string{"BEARER " + token}, nil},
		{"several spaces", []string{"Bearer   " + token}, nil},
		{"space around", []string{" Bearer " + token + " "}, nil},
		{"none", nil, weir.ErrNoKey},
		{"empty", []string{""}, weir.ErrNoKey},
		{"scheme alone", []string{"Bearer"}, weir.ErrNoKey},
		{"too long", []string{"Bearer " + strings.Repeat("a", 16<<10)}, weir.ErrMalformedKey},
		{"scheme and space", []string{"Bearer "}, weir.ErrNoKey},
		{"another scheme", []string{"Basic YTpi"}, weir.ErrNoKey},
		{"longer scheme", []string{"BearerX " + token}, weir.ErrNoKey},
		{"no scheme", []string{token}, weir.ErrNoKey},
		{"twice", []string{"Bearer " + token, "Bearer " + token}, weir.ErrAmbiguousKey},
		{"another scheme beside it", []string{"Basic YTpi", "Bearer " + token}, weir.ErrAmbiguousKey},
		{"tab", []string{"Bearer\t" + token}, malformed},
		{"tab after space", []string{"Bearer \t" + token}, malformed},
		{"comma", []string{"Bearer " + token + ", Bearer x"}, malformed},
		{"parameter", []string{`Bearer token="x"`}, malformed},
		{"two words", []string{"Bearer a b"}, malformed},
		{"equals sign inside", []string{"Bearer a=b"}, malformed},
		{"only padding", []string{"Bearer =="}, malformed},
		{"slash after the scheme", []string{"Bearer/" + token}, malformed},
		{"padding after the scheme", []string{"Bearer="}, malformed},
		{"colon after the scheme", []string{"Bearer: " + token}, malformed},
		{"beyond ASCII", []string{"Bearer tökén"}, malformed},
		{"NUL", []string{"Bearer a\x00"}, malformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := keyRequest()
			r.Header["Authorization"] = c.lines
			got, err := bearer(r)
			switch {
			case c.err == nil && (err != nil || got != want):
				t.Errorf("key %q, error %v; want %q", got, err, want)
			case !errors.Is(err, c.err):
				t.Errorf("key %q, error %v; want %v", got, err, c.err)
			}
			if err != nil && (got != "" || strings.Contains(err.Error(), token)) {
				t.Errorf("key %q, error %v beside it", got, err)
			}
		})
	}
}

func keyJoinOf(parts ...string) (string, error) {
	var fs []weir.KeyFunc
	for _, p := range parts {
		fs = append(fs, weir.KeyStatic(p))
	}
	return weir.KeyJoin(fs...)(keyRequest())
}

func TestKeyJoin(t *testing.T) {
	t.Parallel()
	static, r := weir.KeyStatic, keyRequest()
	failing := weir.KeyHeader("X-User")
	called := func(*http.Request) (string, error) {
		t.Error("called after an error")
		return "", nil
	}
	runKeyCases(t, []keyCase{
		{"ordinary", weir.KeyJoin(static("u-1"), static("GET /items")), r, "u-1|GET /items", nil},
		{"one", weir.KeyJoin(static("https://api.example")), r, "https://api.example", nil},
		{"separator in the first", weir.KeyJoin(static("a|b"), static("c")), r, `a\|b|c`, nil},
		{"separator in the second", weir.KeyJoin(static("a"), static("b|c")), r, `a|b\|c`, nil},
		{"escape", weir.KeyJoin(static(`a\`), static("b")), r, `a\\|b`, nil},
		{"nested", weir.KeyJoin(weir.KeyJoin(static("a"), static("b")), static("c")), r, `a\|b|c`, nil},
		{"empty first", weir.KeyJoin(static(""), static("a")), r, "|a", nil},
		{"empty last", weir.KeyJoin(static("a"), static("")), r, "a|", nil},
		{"first error wins", weir.KeyJoin(static("a"), failing, called), r, "", weir.ErrNoKey},
		{"none", weir.KeyJoin(), r, "", weir.ErrConfig},
		{"nil", weir.KeyJoin(called, nil), r, "", weir.ErrConfig},
	})

	fs := []weir.KeyFunc{static("a"), static("b")}
	join := weir.KeyJoin(fs...)
	fs[1] = nil
	if key, err := join(r); key != "a|b" || err != nil {
		t.Errorf("after the caller changed its slice: key %q, error %v", key, err)
	}
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

func FuzzKeyJoin(f *testing.F) {
	f.Add("a:b", "c", "", uint8(2))
	f.Add("a|b", `\`, `\|`, uint8(3))
	f.Add("", "", "", uint8(1))
	f.Fuzz(func(t *testing.T, a, b, c string, n uint8) {
		parts := []string{a, b, c}[:1+n%3]
		joined, err := keyJoinOf(parts...)
		if err != nil {
			t.Fatal(err)
		}
		// What can be taken apart again was joined without ambiguity.
		split := []string{""}
		for i := 0; i < len(joined); i++ {
			last := len(split) - 1
			switch joined[i] {
			case '|':
				split = append(split, "")
				continue
			case '\\':
				i++
			}
			split[last] += joined[i : i+1]
		}
		if !slices.Equal(split, parts) {
			t.Errorf("%q joined to %q, which is %q", parts, joined, split)
		}
	})
}

func FuzzKeyBearer(f *testing.F) {
	grammar := regexp.MustCompile(`^(?i:bearer) +[A-Za-z0-9._~+/-]+=*$`)
	bearer := weir.KeyBearer(nil)
	for _, s := range []string{"Bearer abc", "bearer  a==", "Bearer", "Basic YTpi", "Bearer\ta", "Bearer a, b", "\tBearer a "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		r := keyRequest()
		r.Header["Authorization"] = []string{line}
		key, err := bearer(r)
		ok := grammar.MatchString(strings.Trim(line, " \t\r\n"))
		if (err == nil) != ok || ok != keyHashText.MatchString(key) {
			t.Errorf("%q: key %q, error %v, by the grammar %v", line, key, err, ok)
		}
	})
}
