package weir_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/goweir/weir"
)

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
		{"nobody", weir.KeyFirst(user, none, static("")), keyRequest(), "", weir.ErrNoKey},
		{"stated twice", weir.KeyFirst(user, called), keyRequest("X-User", "a", "X-User", "b"), "", weir.ErrAmbiguousKey},
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

// TestKeyFirstOfRoutes is how the documentation of KeyRoute counts requests
// that match no route.
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

// FuzzKeyFirst checks that identities of two kinds never share a key.
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
