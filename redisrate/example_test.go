package redisrate_test

import (
	"context"
	"fmt"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	redis_rate "github.com/goweir/weir/redisrate"
)

// The example of redis_rate's README, with another import.
func Example() {
	server, err := miniredis.Run() // a real one, for you
	check(err)
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { _ = rdb.Close() }()
	ctx := context.Background()

	limiter := redis_rate.NewLimiter(rdb)
	res, err := limiter.Allow(ctx, "project:123", redis_rate.PerSecond(10))
	check(err)
	fmt.Println("allowed", res.Allowed, "remaining", res.Remaining)
	// Output: allowed 1 remaining 9
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
