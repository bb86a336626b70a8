package weir_test

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goweir/weir"
)

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
		{"twice", keyed, keyRequest("X-Api-Key", "k-1", "X-Api-Key", "k-2"), "", weir.ErrMalformedKey},
		{"longest", keyed, keyRequest("X-Api-Key", long), "", nil},
		{"longest and space around", keyed, keyRequest("X-Api-Key", " "+long+" "), "", nil},
		{"too long", keyed, keyRequest("X-Api-Key", long+"k"), "", weir.ErrMalformedKey},
		{"twice too long", keyed, keyRequest("X-Api-Key", long+"k", "X-Api-Key", long+"k"), "", weir.ErrMalformedKey},
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
		{"twice", []string{"Bearer " + token, "Bearer " + token}, weir.ErrMalformedKey},
		{"another scheme beside it", []string{"Basic YTpi", "Bearer " + token}, weir.ErrMalformedKey},
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
		{"empty first", weir.KeyJoin(static(""), called), r, "", weir.ErrNoKey},
		{"empty last", weir.KeyJoin(static("a"), static("")), r, "", weir.ErrNoKey},
		{"empty alone", weir.KeyJoin(static("")), r, "", weir.ErrNoKey},
		{"an optional part", weir.KeyJoin(weir.KeyFirst(failing, static("none")), static("a")), r, `1\|none|a`, nil},
		{"separator last against separator first", weir.KeyJoin(static("a|"), static("b")), r, `a\||b`, nil},
		{"separator first against separator last", weir.KeyJoin(static("a"), static("|b")), r, `a|\|b`, nil},
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

func FuzzKeyJoin(f *testing.F) {
	f.Add("a:b", "c", "", uint8(2))
	f.Add("a|b", `\`, `\|`, uint8(3))
	f.Add("", "", "", uint8(1))
	f.Fuzz(func(t *testing.T, a, b, c string, n uint8) {
		parts := []string{a, b, c}[:1+n%3]
		joined, err := keyJoinOf(parts...)
		if slices.Contains(parts, "") {
			if !errors.Is(err, weir.ErrNoKey) || joined != "" {
				t.Errorf("%q: key %q, error %v", parts, joined, err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		// A joined key that can be taken apart again is unambiguous.
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

func TestKeyFirst(t *testing.T) {
	t.Parallel()
	user, static := weir.KeyHeader("X-User"), weir.KeyStatic
	none := func(*http.Request) (string, error) { return "", fmt.Errorf("nobody: %w", weir.ErrNoKey) }
	empty := func(*http.Request) (string, error) { return "", weir.ErrEmptyKey }
	called := func(*http.Request) (string, error) {
		t.Error("called after the search was over")
		return "", nil
	}
	errLookup := errors.New("lookup failed")
	failing := func(*http.Request) (string, error) { return "k", errLookup }
	ip := weir.KeyRemoteIP()
	runKeyCases(t, []keyCase{
		{"the first", weir.KeyFirst(user, called), keyRequest("X-User", "u-1"), "0|u-1", nil},
		{"the second", weir.KeyFirst(user, static("rest")), keyRequest(), "1|rest", nil},
		{"the last", weir.KeyFirst(none, empty, user, ip), from("192.0.2.7:1"), "3|192.0.2.7", nil},
		{"a user called as an address", weir.KeyFirst(user, ip), keyRequest("X-User", "192.0.2.7"), "0|192.0.2.7", nil},
		{"a user called as another's key", weir.KeyFirst(user, ip), keyRequest("X-User", "1|192.0.2.7"), "0|1|192.0.2.7", nil},
		{"an empty key is none", weir.KeyFirst(static(""), static("rest")), keyRequest(), "1|rest", nil},
		{"no identity", weir.KeyFirst(user, none, static("")), keyRequest(), "", weir.ErrNoKey},
		{"stated twice", weir.KeyFirst(user, called), keyRequest("X-User", "a", "X-User", "b"), "", weir.ErrMalformedKey},
		{"malformed", weir.KeyFirst(weir.KeyBearer(nil), called), keyRequest("Authorization", "Bearer a b"), "", weir.ErrMalformedKey},
		{"failed", weir.KeyFirst(failing, called), keyRequest(), "", errLookup},
		{"failed after none", weir.KeyFirst(none, failing, called), keyRequest(), "", errLookup},
		{"one misconfigured", weir.KeyFirst(weir.KeyHeader(""), called), keyRequest(), "", weir.ErrConfig},
		{"nested", weir.KeyFirst(none, weir.KeyFirst(none, static("a"))), keyRequest(), "1|1|a", nil},
		{"joined", weir.KeyJoin(weir.KeyFirst(user, ip), static("b")), keyRequest("X-User", "a"), `0\|a|b`, nil},
		{"no function", weir.KeyFirst(), keyRequest(), "", weir.ErrConfig},
		{"nil", weir.KeyFirst(called, nil), keyRequest(), "", weir.ErrConfig},
	})

	fs := []weir.KeyFunc{none, static("b")}
	first := weir.KeyFirst(fs...)
	fs[1] = nil
	if key, err := first(keyRequest()); key != "1|b" || err != nil {
		t.Errorf("after the caller changed its slice: key %q, error %v", key, err)
	}
	if _, err := weir.KeyFirst(called, nil)(keyRequest()); !strings.Contains(err.Error(), "KeyFirst.fs[1]") {
		t.Errorf("%v does not say which", err)
	}
}

// TestKeyFirstOfRoutes counts requests without a route as the documentation of KeyRoute
// does.
func TestKeyFirstOfRoutes(t *testing.T) {
	t.Parallel()
	key := weir.KeyFirst(weir.KeyRoute(), weir.KeyStatic("unmatched"))
	matched := keyRequest()
	matched.Pattern = "GET /items/{id}"
	runKeyCases(t, []keyCase{
		{"matched", key, matched, "0|GET /items/{id}", nil},
		{"unmatched", key, keyRequest(), "1|unmatched", nil},
	})
}

// FuzzKeyFirst: identities of two kinds never share a key.
func FuzzKeyFirst(f *testing.F) {
	f.Add("192.0.2.7", "192.0.2.7")
	f.Add("1|a", "a")
	f.Add("", "0|")
	f.Fuzz(func(t *testing.T, a, b string) {
		key := func(fs ...weir.KeyFunc) string {
			k, err := weir.KeyFirst(fs...)(keyRequest())
			if err != nil && !errors.Is(err, weir.ErrNoKey) {
				t.Fatal(err)
			}
			return k
		}
		nobody := weir.KeyStatic("")
		first, second := key(weir.KeyStatic(a), weir.KeyStatic(b)), key(nobody, weir.KeyStatic(b))
		if first == second && (a != "" || first == "" && b != "") {
			t.Errorf("%q as first and %q as second are both %q", a, b, first)
		}
		if a != b && a != "" && b != "" && first == key(weir.KeyStatic(b), nobody) {
			t.Errorf("%q and %q as first are both %q", a, b, first)
		}
	})
}
