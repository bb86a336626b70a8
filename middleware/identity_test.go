package middleware_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/localstore"
)

// TestLongKeys checks that the keys in a store are bounded, for any key function, and that
// different keys are counted apart.
func TestLongKeys(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 1<<20)
	for name, key := range map[string]func(user string) weir.KeyFunc{
		"a context": func(user string) weir.KeyFunc {
			return weir.KeyContext(func(context.Context) (string, bool) { return user, true })
		},
		"the program's own": func(user string) weir.KeyFunc {
			return func(*http.Request) (string, error) { return user, nil }
		},
		"joined": func(user string) weir.KeyFunc {
			return weir.KeyJoin(weir.KeyStatic(user), weir.KeyStatic("route"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, err := localstore.New(localstore.Config{})
			if err != nil {
				t.Fatal(err)
			}
			last := ""
			l, err := weir.New(weir.Config{
				Name: "api", Store: store, Limits: []weir.Limit{weir.PerDay(1)},
				Hook: func(_ context.Context, e weir.Event) { last = e.Key },
			})
			if err != nil {
				t.Fatal(err)
			}
			admitted := func(user string) bool {
				_, ok := guard(t, middleware.Config{Limiter: l, Key: key(user)}).Check(httptest.NewRecorder(), request(t.Context()))
				return ok
			}
			for _, user := range []string{long, long + "a", long + "b", long[1:], long[:1000], long[:1024], long[:1025]} {
				if !admitted(user) || admitted(user) {
					t.Errorf("%d bytes are not counted for themselves", len(user))
				}
				if len(last) > 1025 {
					t.Errorf("a key of %d bytes is kept for one of %d", len(last), len(user))
				}
				if posing := last; name != "joined" && len(user) > 1024 && (!admitted(posing) || posing == last) {
					t.Error("a key that looks like the hash of another key counts as that key")
				}
			}
		})
	}
}
