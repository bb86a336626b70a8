package main

import (
	"errors"
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/redisstore"
)

// newStore returns the store that all replicas share, and what closes it. While
// Redis is away each replica decides by itself, so it does no I/O here either.
func newStore(at, prefix string, budget time.Duration) (weir.Store, func(), error) {
	options, err := redis.ParseURL(at)
	var bad *url.Error
	if errors.As(err, &bad) {
		err = bad.Err // without the URL, which may hold a password
	}
	if err != nil {
		return nil, nil, err
	}
	redisstore.Configure(options)
	client := redis.NewClient(options)
	closeClient := func() { _ = client.Close() }
	primary, err := redisstore.New(redisstore.Config{Client: client, Prefix: prefix})
	if err != nil {
		closeClient()
		return nil, nil, err
	}
	store, err := fallback.New(fallback.Config{
		Primary:  primary,
		Budget:   budget, // 0: 50 ms
		Replicas: 1,      // how many processes share the limits while Redis is away
	})
	if err != nil {
		closeClient()
		return nil, nil, err
	}
	return store, closeClient, nil
}
