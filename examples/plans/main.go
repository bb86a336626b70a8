// Command plans is an API with plans for sale. Customers log in with a password, get an
// API key, are limited by their plan, and can change the plan.
//
//	go run ./examples/plans
//	curl -i -X POST -u ann:pelican-92 http://127.0.0.1:8080/login
//	curl -i -H 'X-API-Key: wk_…' http://127.0.0.1:8080/hello
//	curl -i -H 'X-API-Key: wk_…' -X PUT http://127.0.0.1:8080/plan/pro
//
// Replicas share a Redis (-redis URL), and go on without it when it is away.
// With -demo it makes these requests itself.
package main

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/examples/internal/sharedredis"
	"github.com/goweir/weir/middleware"
)

var (
	addr     = flag.String("addr", "127.0.0.1:8080", "where to listen")
	redisURL = flag.String("redis", "", "`URL` of the Redis that all replicas share; without it one in this process's memory")
	headers  = flag.String("headers", "draft11", "rate headers of the API: draft11, draft6, x, epoch or none")
	demo     = flag.Bool("demo", false, "make a few requests to itself, print them, and exit")
)

var styles = map[string]middleware.HeaderStyle{
	"draft11": middleware.HeadersDraft11, "draft6": middleware.HeadersDraft6, "x": middleware.HeadersX,
	"epoch": middleware.HeadersXEpoch, "none": middleware.HeadersNone,
}

func main() {
	flag.Parse()
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	style, ok := styles[*headers]
	if !ok {
		return fmt.Errorf("-headers: there is no style %q", *headers)
	}
	at := *redisURL
	var stopRedis func() // nil: Redis is the caller's
	if at == "" {
		embedded, err := sharedredis.Open(context.Background(), "", "plans")
		if err != nil {
			return err
		}
		defer embedded.Close()
		at, stopRedis = embedded.URL, embedded.Close
	}
	if *demo {
		return runDemo(out, at, style, stopRedis)
	}
	store, closeStore, err := newStore(at, "plans:", 0)
	if err != nil {
		return err
	}
	defer closeStore()
	service, err := newService(store, someAccounts(), style)
	if err != nil {
		return err
	}
	log.Printf("http://%s: POST /login, GET /hello, PUT /plan/{plan}", *addr)
	server := &http.Server{Addr: *addr, Handler: service, ReadHeaderTimeout: 10 * time.Second}
	return server.ListenAndServe()
}

// someAccounts is in place of a database of customers.
func someAccounts() *accounts {
	secret := os.Getenv("API_KEY_SECRET")
	if secret == "" {
		secret = rand.Text() // these accounts end with the process
	}
	a := newAccounts([]byte(secret))
	a.add("ann", "pelican-92", "free")
	a.add("bob", "walrus-17", "pro")
	return a
}

// newService returns the whole service.
func newService(store weir.Store, a *accounts, style middleware.HeaderStyle) (http.Handler, error) {
	limitLogins, err := newLoginLimits(store)
	if err != nil {
		return nil, err
	}
	limitCalls, err := newPlanLimit(store, a, style)
	if err != nil {
		return nil, err
	}
	limitChanges, err := newChangeLimit(store)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("POST /login", limitLogins(a.login()))
	// A limit by user comes after the authentication, which finds the user.
	mux.Handle("GET /hello", a.authenticate(limitCalls(hello())))
	// A customer at the end of a plan must be able to take a larger one, so this has its
	// own limit.
	mux.Handle("PUT /plan/{plan}", a.authenticate(limitChanges(a.changePlan())))
	return mux, nil
}
