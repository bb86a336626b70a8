package limitfile_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/goweir/weir"
	"github.com/goweir/weir/limitfile"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/localstore"
)

const limitsFile = `
default: free                 # the plan of customers without another

plans:
  free: [2/h]                 # a request is admitted by all limits of its plan
  pro:
    - 25 per 5 s
    - {rate: 300, per: 1m, algorithm: sliding_window, name: minute}

keys:                         # these keys have something else
  acme: pro                   # another plan
  "user:42": [1/d]            # limits of their own
`

// The file holds the plans, a database the plan of each user.
func Example() {
	dir, err := os.MkdirTemp("", "weir")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "limits.yaml")
	if err := os.WriteFile(path, []byte(limitsFile), 0o600); err != nil {
		panic(err)
	}

	limits, err := limitfile.Open(limitfile.Config{Path: path})
	if err != nil {
		panic(err) // with file, line and field
	}
	defer limits.Close()
	// Stands for a database; examples/plans keeps the answers for a while.
	planOf := func(_ context.Context, user string) (string, error) {
		return map[string]string{"ann": "pro"}[user], nil
	}
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		panic(err)
	}
	limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: limits.For("", "")})
	if err != nil {
		panic(err)
	}
	user := weir.KeyHeader("X-User") // set by the gateway that authenticates
	limit, err := middleware.New(middleware.Config{
		Limiter: limiter,
		Key:     user,
		Limits: limits.Limits(user, func(r *http.Request) (string, error) {
			name, err := user(r)
			if err != nil {
				return "", err
			}
			return planOf(r.Context(), name)
		}),
	})
	if err != nil {
		panic(err)
	}
	h := limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))

	for _, user := range []string{"bob", "ann", "acme", "user:42", "user:42"} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set("X-User", user)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Println(user, w.Code, w.Header().Get("RateLimit-Policy"))
	}
	// Output:
	// bob 200 "2-in-1h";q=2;w=3600
	// ann 200 "25-in-5s";q=25;w=5, "minute";q=300;w=60
	// acme 200 "25-in-5s";q=25;w=5, "minute";q=300;w=60
	// user:42 200 "1-in-1d";q=1;w=86400
	// user:42 429 "1-in-1d";q=1;w=86400
}

// All mistakes are reported, each with its place.
func ExampleParse() {
	_, err := limitfile.Parse("limits.yaml", []byte(`
default: free
plans:
  free: [10/s, {rate: 0, per: 1m}]
keys:
  acme: gold
`))
	fmt.Println(err)
	// Output:
	// limitfile: limits.yaml:4:23: plans.free[1].rate: want a whole number of 1 to 2^50, got the number 0
	// limitfile: limits.yaml:6:9: keys.acme: want the name of a plan or a list of limits, got "gold", which is no plan of this file
}

// The file holds an API key as the key function's hash, and no credential.
func ExampleParse_apiKey() {
	key := weir.KeyAPIKey("X-API-Key", []byte("a secret of the deployment"))

	r := &http.Request{Header: http.Header{"X-Api-Key": {"the API key of acme"}}}
	hashed, err := key(r)
	if err != nil {
		panic(err)
	}
	fmt.Println("keys: {" + hashed + ": pro}")
	// Output: keys: {e1vL08lYwYRxRbJ-n2_5cA: pro}
}
