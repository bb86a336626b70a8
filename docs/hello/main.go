// Command hello is the program in the README: an API on which everybody has
// two requests a minute.
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

func main() {
	api, err := newAPI()
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", api))
}

// newAPI returns an API that admits two requests per minute and IP address.
func newAPI() (http.Handler, error) {
	store, err := localstore.New(localstore.Config{}) // for several replicas: redisstore
	if err != nil {
		return nil, err
	}
	limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: []weir.Limit{weir.PerMinute(2)}})
	if err != nil {
		return nil, err
	}
	limit, err := middleware.New(middleware.Config{Limiter: limiter, Key: weir.KeyRemoteIP()})
	if err != nil {
		return nil, err
	}
	hello := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") }
	return limit(http.HandlerFunc(hello)), nil
}
