package middleware_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/localstore"
)

// orgOf stands for a lookup of the organisation of an authenticated user.
func orgOf(ctx context.Context) (string, bool) {
	user, ok := userOf(ctx)
	_, org, found := strings.Cut(user, "@")
	return org, ok && found
}

// Limits of a user, an organisation and all users: a request passes when all three admit
// it, or is charged on none.
func ExampleConfig_levels() {
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		panic(err)
	}
	limiter := func(name string, limit weir.Limit) *weir.Limiter {
		l, err := weir.New(weir.Config{Name: name, Store: store, Limits: []weir.Limit{limit.WithName(name)}})
		if err != nil {
			panic(err)
		}
		return l
	}
	limit, err := middleware.New(middleware.Config{
		Limiter: limiter("user", weir.PerHour(2)),
		Key:     weir.KeyContext(userOf),
		Levels: []middleware.Level{
			{Limiter: limiter("org", weir.PerHour(3)), Key: weir.KeyContext(orgOf), SkipNoKey: true},
			{Limiter: limiter("everyone", weir.PerHour(4)), Key: weir.KeyStatic("everyone")},
		},
		OnLimited: func(w http.ResponseWriter, _ *http.Request, d weir.Decision) {
			http.Error(w, "too many requests of "+d.Scope, http.StatusTooManyRequests)
		},
	})
	if err != nil {
		panic(err)
	}
	h := authenticate(limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "a thing") })))

	for _, user := range []string{"ann@acme", "ann@acme", "ann@acme", "bob@acme", "bob@acme", "cyd", "dan"} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.SetBasicAuth(user, "secret")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Printf("%s: %d %s", user, w.Code, w.Body)
	}
	// Output:
	// ann@acme: 200 a thing
	// ann@acme: 200 a thing
	// ann@acme: 429 too many requests of user
	// bob@acme: 200 a thing
	// bob@acme: 429 too many requests of org
	// cyd: 200 a thing
	// dan: 429 too many requests of everyone
}
