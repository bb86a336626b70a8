// Command provider is the outbound program in the README. All processes that run it
// over one Redis together call the API once a second at most.
//
//	REDIS_URL=redis://localhost:6379 go run ./docs/provider
package main

import (
	"log"
	"net/http"
	"os"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/redisstore"
)

func main() {
	redis := must(redisstore.Open(os.Getenv("REDIS_URL"), redisstore.Config{}))
	defer redis.Close()
	store := must(fallback.New(fallback.Config{Primary: redis, Replicas: 3})) // in an outage each of 3 processes has a third
	limiter := must(weir.New(weir.Config{Name: "provider", Store: store, Limits: []weir.Limit{weir.Outbound(1, time.Second)}}))
	client := &http.Client{Transport: must(weir.NewTransport(weir.TransportConfig{Limiter: limiter, Key: weir.KeyHost()}))}
	resp := must(client.Get("https://example.com")) // waits its turn
	resp.Write(os.Stdout)                           // and closes the body
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
