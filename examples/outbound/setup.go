package main

import (
	"io"
	"net"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/store/redisstore"
)

// newStore returns a store over a Redis, or without a URL one in memory.
func newStore(url string) (weir.Store, error) {
	if url == "" {
		return localstore.New(localstore.Config{})
	}
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	o.ContextTimeoutEnabled = true // so that a deadline reaches the socket
	return redisstore.New(redisstore.Config{Client: redis.NewClient(o)})
}

// startAPI starts what stands in for somebody's API.
func startAPI() (url string, stop func()) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	s := &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello\n") }),
		ReadHeaderTimeout: 10 * time.Second,
	}
	go func() { _ = s.Serve(l) }() // until stop
	return "http://" + l.Addr().String(), func() { _ = s.Close() }
}
