package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/localstore"
)

type userKey struct{}

// authenticate stands for a middleware that finds a request's user.
func authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, ok := r.BasicAuth()
		if !ok || password != "secret" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, user)))
	})
}

func userOf(ctx context.Context) (string, bool) {
	user, ok := ctx.Value(userKey{}).(string)
	return user, ok
}

// The limiter runs inside the authentication, and counts by its user.
func Example() {
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		panic(err)
	}
	limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: []weir.Limit{weir.PerHour(2)}})
	if err != nil {
		panic(err)
	}
	limit, err := middleware.New(middleware.Config{Limiter: limiter, Key: weir.KeyContext(userOf)})
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /things", authenticate(limit(http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "a thing") }))))

	for range 3 {
		r := httptest.NewRequest(http.MethodGet, "/things", http.NoBody)
		r.SetBasicAuth("ann", "secret")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Printf("%d %s %q\n", w.Code, w.Header().Get("RateLimit"), w.Header().Get("Retry-After"))
	}
	// Output:
	// 200 "2-in-1h";r=1;t=1800 ""
	// 200 "2-in-1h";r=0;t=1800 ""
	// 429 "2-in-1h";r=0;t=1800 "1800"
}

// Each customer has the limits of a plan, read per request.
func ExampleConfig_plans() {
	plans := map[string][]weir.Limit{
		"free": {weir.PerHour(1).WithName("free")},
		"pro":  {weir.PerSecond(10).WithName("pro"), weir.PerDay(10_000).WithName("pro-day")},
	}
	planOf := map[string]string{"k1": "free", "k2": "pro"}

	store, err := localstore.New(localstore.Config{})
	if err != nil {
		panic(err)
	}
	limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: plans["free"]})
	if err != nil {
		panic(err)
	}
	limit, err := middleware.New(middleware.Config{
		Limiter: limiter,
		Key:     weir.KeyAPIKey("X-API-Key", []byte("a secret of the deployment")),
		Limits: func(r *http.Request) ([]weir.Limit, error) {
			if plan, ok := plans[planOf[r.Header.Get("X-API-Key")]]; ok {
				return plan, nil
			}
			return plans["free"], nil // never an error that a client can cause
		},
	})
	if err != nil {
		panic(err)
	}
	h := limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))

	for _, apiKey := range []string{"k1", "k1", "k2"} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set("X-API-Key", apiKey)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Println(apiKey, w.Code, w.Header().Get("RateLimit-Policy"))
	}
	// Output:
	// k1 200 "free";q=1;w=3600
	// k1 429 "free";q=1;w=3600
	// k2 200 "pro";q=10;w=1, "pro-day";q=10000;w=86400
}

// Visitors share one key. A request that states its identity twice is forbidden. While the
// service that knows the tokens is away, no request passes.
func ExampleConfig_identity() {
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		panic(err)
	}
	limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: []weir.Limit{weir.PerHour(1)}})
	if err != nil {
		panic(err)
	}
	token := weir.KeyBearer([]byte("a secret of the deployment"))
	limit, err := middleware.New(middleware.Config{
		Limiter: limiter,
		Key: func(r *http.Request) (string, error) {
			key, err := token(r)
			if err == nil && r.Header.Get("X-Outage") != "" {
				return "", errors.New("the service that knows the tokens is away")
			}
			return key, err
		},
		OnNoKey: func(_ *http.Request, err error) middleware.NoKey {
			switch {
			case errors.Is(err, weir.ErrNoKey):
				return middleware.NoKey{Key: "(visitors)"}
			case errors.Is(err, weir.ErrMalformedKey):
				return middleware.NoKey{Status: http.StatusForbidden}
			}
			return middleware.NoKey{Status: http.StatusServiceUnavailable}
		},
	})
	if err != nil {
		panic(err)
	}
	h := limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))

	for _, header := range []http.Header{
		{},
		{},
		{"Authorization": {"Bearer abc"}},
		{"Authorization": {"Bearer abc", "Bearer def"}},
		{"Authorization": {"Bearer abc"}, "X-Outage": {"1"}},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header = header
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Println(w.Code, header["Authorization"])
	}
	// Output:
	// 200 []
	// 429 []
	// 200 [Bearer abc]
	// 403 [Bearer abc Bearer def]
	// 503 [Bearer abc]
}

// Only wrong passwords use up the limit, and an address that goes on trying is blocked.
func ExampleConfig_logins() {
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		panic(err)
	}
	logins, err := weir.New(weir.Config{Name: "logins", Store: store, Limits: []weir.Limit{weir.PerMinute(2)}})
	if err != nil {
		panic(err)
	}
	refusals, err := weir.New(weir.Config{
		Name: "refused logins", Store: store, Limits: []weir.Limit{weir.PerHour(2).By(weir.FixedWindow)},
	})
	if err != nil {
		panic(err)
	}
	limit, err := middleware.New(middleware.Config{
		Limiter: logins,
		Key:     weir.KeyRemoteIP(),
		Settle:  middleware.OnlyFailures,
		Penalty: middleware.Penalty{Limiter: refusals, For: 10 * time.Minute},
		Headers: middleware.HeadersNone,
	})
	if err != nil {
		panic(err)
	}
	login := limit(authenticate(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))

	for _, password := range []string{"secret", "1234", "secret", "2345", "secret", "secret"} {
		r := httptest.NewRequest(http.MethodPost, "/login", http.NoBody)
		r.SetBasicAuth("ann", password)
		w := httptest.NewRecorder()
		login.ServeHTTP(w, r)
		fmt.Printf("%s %d %q\n", password, w.Code, w.Header().Get("Retry-After"))
	}
	// Output:
	// secret 200 ""
	// 1234 401 ""
	// secret 200 ""
	// 2345 401 ""
	// secret 429 "30"
	// secret 429 "600"
}

// A stricter limit is watched beside the enforced one.
func ExampleConfig_shadows() {
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		panic(err)
	}
	limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: []weir.Limit{weir.PerHour(100)}})
	if err != nil {
		panic(err)
	}
	wouldRefuse := 0
	planned, err := weir.New(weir.Config{
		Name: "planned", Store: store, Limits: []weir.Limit{weir.PerHour(2)},
		Hook: func(_ context.Context, e weir.Event) {
			if e.Kind == weir.EventDecision && !e.Decision.Allowed {
				wouldRefuse++
			}
		},
	})
	if err != nil {
		panic(err)
	}
	limit, err := middleware.New(middleware.Config{
		Limiter: limiter, Key: weir.KeyContext(userOf), Shadows: []*weir.Limiter{planned},
	})
	if err != nil {
		panic(err)
	}
	h := authenticate(limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	for range 5 {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.SetBasicAuth("ann", "secret")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Print(w.Code, " ")
	}
	fmt.Println(wouldRefuse, "would have been refused")
	// Output: 200 200 200 200 200 3 would have been refused
}
