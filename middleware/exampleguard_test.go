package middleware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/localstore"
)

// A handler limits by a name in the body, after it has read the body.
func ExampleGuard_Check() {
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		panic(err)
	}
	limiter, err := weir.New(weir.Config{Name: "logins by account", Store: store, Limits: []weir.Limit{weir.PerHour(1)}})
	if err != nil {
		panic(err)
	}
	guard, err := middleware.NewGuard(middleware.Config{Limiter: limiter, Key: weir.KeyContext(userOf)})
	if err != nil {
		panic(err)
	}
	login := func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Name string }
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4096)).Decode(&body); err != nil {
			http.Error(w, "want a name", http.StatusBadRequest)
			return
		}
		named := r.WithContext(context.WithValue(r.Context(), userKey{}, body.Name))
		if _, ok := guard.Check(w, named); !ok {
			return // Check has answered.
		}
		fmt.Fprintln(w, "welcome")
	}
	for range 2 {
		w := httptest.NewRecorder()
		login(w, httptest.NewRequest(http.MethodPost, "/login", strings.NewReader(`{"name": "ann"}`)))
		fmt.Println(w.Code, w.Header().Get("RateLimit"))
	}
	// Output:
	// 200 "1-in-1h";r=0;t=3600
	// 429 "1-in-1h";r=0;t=3600
}
