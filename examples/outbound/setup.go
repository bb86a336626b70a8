package main

import (
	"io"
	"net"
	"net/http"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/store/redisstore"
)

// newStore returns a store over a Redis, or without a URL one in memory.
func newStore(url string) (store weir.Store, stop func()) {
	if url == "" {
		store, err := localstore.New(localstore.Config{})
		check(err)
		return store, func() {}
	}
	redis, err := redisstore.Open(url, redisstore.Config{})
	check(err)
	return redis, func() { _ = redis.Close() }
}

// startAPI starts a stand-in for the API.
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
