package dashboard_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/goweir/weir"
	"github.com/goweir/weir/dashboard"
	"github.com/goweir/weir/store/redisstore"
)

// authenticate stands for the check of your own admin pages.
func authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); !ok || user != "admin" || password != "secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="admin"`)
			http.Error(w, "unauthorized", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func Example() {
	redis, err := redisstore.Open("redis://localhost:6379", redisstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer redis.Close()
	limits := []weir.Limit{weir.PerMinute(100)}
	mux := http.NewServeMux()

	dash, err := dashboard.New(dashboard.Config{Client: redis.Client()})
	if err != nil {
		log.Fatal(err)
	}
	limiter, err := weir.New(weir.Config{Name: "api", Store: redis, Limits: limits, Hook: dash.Observe})
	if err != nil {
		log.Fatal(err)
	}
	mux.Handle("/admin/weir/", authenticate(dash))

	server := &http.Server{Handler: mux}
	server.RegisterOnShutdown(dash.Close)
	for _, password := range []string{"wrong", "secret"} {
		r := httptest.NewRequest("GET", "/admin/weir/", nil)
		r.SetBasicAuth("admin", password)
		w := httptest.NewRecorder()
		server.Handler.ServeHTTP(w, r)
		fmt.Println(limiter.Name(), w.Code)
	}
	// Output:
	// api 401
	// api 200
}
