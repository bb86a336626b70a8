// Command hello is an API that admits two requests per minute and IP address.
//
//	go run ./docs/hello
//	curl -i http://127.0.0.1:8080/hello
package main

import (
	"fmt"
	"log"
	"net/http"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/localstore"
)

func main() { log.Fatal(http.ListenAndServe("127.0.0.1:8080", newAPI())) }

func newAPI() http.Handler {
	store := must(localstore.New(localstore.Config{})) // several replicas: the store above
	limiter := must(weir.New(weir.Config{Name: "api", Store: store, Limits: []weir.Limit{weir.PerMinute(2)}}))
	limit := must(middleware.New(middleware.Config{
		Limiter: limiter,
		Key:     weir.KeyRemoteIP(), // or the user: KeyContext, KeyAPIKey, KeyBearer
	}))
	hello := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") }
	return limit(http.HandlerFunc(hello))
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
