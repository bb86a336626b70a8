package howto

import (
	"github.com/goweir/weir"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/redisstore"
)

// OpenStore returns the store that all processes share. While Redis is away, each
// of the replicas decides on its share of the limits.
func OpenStore(redisURL string, replicas int) (store weir.Store, stop func() error, err error) {
	redis, err := redisstore.Open(redisURL, redisstore.Config{})
	if err != nil {
		return nil, nil, err
	}
	store, err = fallback.New(fallback.Config{Primary: redis, Replicas: replicas})
	if err != nil {
		_ = redis.Close()
		return nil, nil, err
	}
	return store, redis.Close, nil
}
