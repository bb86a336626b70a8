package weir_test

import (
	"errors"
	"net/http"
	"regexp"
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
