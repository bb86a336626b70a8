package main

import (
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/redisstore"
)

// newStore returns the store that all replicas share, and a function that closes it.
// While Redis is away each replica decides by itself, so newStore does no I/O either.
func newStore(at, prefix string, budget time.Duration) (weir.Store, func(), error) {
	redis, err := redisstore.Open(at, redisstore.Config{Prefix: prefix})
	if err != nil {
		return nil, nil, err
	}
	closeRedis := func() { _ = redis.Close() }
	store, err := fallback.New(fallback.Config{
		Primary:  redis,
		Budget:   budget, // 0: 50 ms
		Replicas: 1,      // processes that share the limits while Redis is away
	})
	if err != nil {
		closeRedis()
		return nil, nil, err
	}
	return store, closeRedis, nil
}
