package contender

import (
	"context"
	"net/http"

	"github.com/gomodule/redigo/redis"
	golimiter "github.com/sethvargo/go-limiter"
	"github.com/sethvargo/go-limiter/httplimit"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/sethvargo/go-redisstore"
)

// GoLimiter is go-limiter, and go-redisstore over Redis: buckets that are filled once per
// window.
func GoLimiter() Contender {
	return Contender{
		Name: "go-limiter", Module: "github.com/sethvargo/go-limiter",
		Note:  "go-limiter over Redis is go-redisstore, whose own pool of 100 connections asks PING before each call.",
		Local: func(c Cleaner, l Limit) (Decide, error) { return decideGoLimiter(newGoLimiter(c, l)) },
		Redis: func(c Cleaner, l Limit, at Servers) (Decide, error) {
			store, err := redisstore.New(&redisstore.Config{
				Tokens: uint64(l.Burst), Interval: l.Window,
				Dial: func() (redis.Conn, error) { return redis.Dial("tcp", at.Addrs[0]) },
			})
			if err == nil {
				c.Cleanup(func() { _ = store.Close(context.Background()) })
			}
			return decideGoLimiter(store, err)
		},
		Web: Web{NetHTTP, func(c Cleaner, l Limit, h http.Handler) (http.Handler, error) {
			store, err := newGoLimiter(c, l)
			if err != nil {
				return nil, err
			}
			m, err := httplimit.NewMiddleware(store, func(r *http.Request) (string, error) { return r.Header.Get(KeyHeader), nil })
			if err != nil {
				return nil, err
			}
			return m.Handle(h), nil
		}},
	}
}

func newGoLimiter(c Cleaner, l Limit) (golimiter.Store, error) {
	store, err := memorystore.New(&memorystore.Config{Tokens: uint64(l.Burst), Interval: l.Window})
	if err == nil {
		c.Cleanup(func() { _ = store.Close(context.Background()) })
	}
	return store, err
}

func decideGoLimiter(store golimiter.Store, err error) (Decide, error) {
	return func(ctx context.Context, key string) (bool, error) {
		_, _, _, ok, err := store.Take(ctx, key)
		return ok, err
	}, err
}
