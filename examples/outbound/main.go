// Command outbound calls an API through weir.Transport, which keeps every
// process that shares the store inside the API's limit.
//
//	go run ./examples/outbound
//	go run ./examples/outbound -redis redis://localhost:6379
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/goweir/weir"
)

var redisURL = flag.String("redis", "", "`URL` of the Redis that all processes share; without it the limit is this process's own")

func main() {
	flag.Parse()
	store, closeStore := newStore(*redisURL)
	defer closeStore()
	// The API allows 2 calls per second.
	limiter, err := weir.New(weir.Config{
		Name:   "outbound-example",
		Store:  store,
		Limits: []weir.Limit{weir.Outbound(2, time.Second)},
	})
	check(err)
	patient, err := weir.NewTransport(weir.TransportConfig{Limiter: limiter, Key: weir.KeyHost(), MaxWait: 5 * time.Second})
	check(err)
	hasty, err := weir.NewTransport(weir.TransportConfig{Limiter: limiter, Key: weir.KeyHost(), Refuse: true})
	check(err)

	url, stop := startAPI()
	defer stop()
	fmt.Println("Calls wait for their slots:")
	client := &http.Client{Transport: patient}
	for range 4 {
		get(client, url)
	}
	fmt.Println("A call that is not to wait:")
	get(&http.Client{Transport: hasty}, url)
	fmt.Println("A call whose slot lies past its timeout:")
	get(&http.Client{Transport: patient, Timeout: 200 * time.Millisecond}, url)
}

// get makes a call and shows how it ended.
func get(client *http.Client, url string) {
	start := time.Now()
	resp, err := client.Get(url)
	fmt.Printf("  after %v: ", time.Since(start).Round(100*time.Millisecond))
	var limited *weir.LimitedError
	switch {
	case errors.As(err, &limited):
		fmt.Printf("not sent; %v admits it in %v\n", limited.Limit, limited.RetryAfter.Round(100*time.Millisecond))
	case errors.Is(err, weir.ErrStore):
		fmt.Println("not sent; the store failed:", err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		fmt.Println("given up:", err)
	case err != nil:
		fmt.Println("the network failed:", err)
	default:
		_ = resp.Body.Close()
		fmt.Println("the API answers", resp.Status) // including a 429, which is the API's
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
