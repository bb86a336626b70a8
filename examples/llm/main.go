// Command llm shares a model's budgets of requests, input tokens and output tokens per
// minute between the interactive and the batch calls of four workers. The provider, on
// this machine, enforces its limits, and answers with streams.
//
//	go run ./examples/llm
//	go run ./examples/llm -redis redis://localhost:6379
//
// It exits with 1 if the provider refused a call.
package main

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/store/redisstore"
)

var redisURL = flag.String("redis", "", "`URL` of the Redis that all workers share; without it they share a store in memory")

// length is the time in which calls begin.
const length = 6 * time.Second

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	store, closeStore, err := newStore(*redisURL)
	check(err)
	defer closeStore()
	url, closeProvider, err := startProvider()
	check(err)
	defer closeProvider()

	fmt.Printf("4 workers send interactive and batch calls to %s for %v.\n\n", model, length)
	// Each run has its own provider, and so its own name.
	name := "llm-example " + rand.Text()[:8]
	r, err := play(ctx, store, name, url, http.DefaultTransport, length)
	check(err)
	r.print(os.Stdout)
	if r.refused() > 0 {
		log.Fatal("The provider refused calls.")
	}
}

// newStore returns a store over a Redis, or without a URL one in memory.
func newStore(url string) (store weir.Store, stop func(), err error) {
	if url == "" {
		store, err = localstore.New(localstore.Config{})
		return store, func() {}, err
	}
	redis, err := redisstore.Open(url, redisstore.Config{})
	return redis, func() { _ = redis.Close() }, err
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
