package redisstore_test

import (
	"context"
	"fmt"

	"github.com/alicebob/miniredis/v2"
	"github.com/goweir/weir"
	"github.com/goweir/weir/store/redisstore"
	"github.com/redis/go-redis/v9"
)

// What redis_rate's Allow(ctx, "project:123", redis_rate.PerSecond(10)) says.
func Example_fromRedisRate() {
	server, err := miniredis.Run() // a real one, for you
	check(err)
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { _ = client.Close() }()
	ctx := context.Background()

	store, err := redisstore.New(redisstore.Config{Client: client})
	check(err)
	limiter, err := weir.New(weir.Config{Name: "projects", Store: store, Limits: []weir.Limit{weir.PerSecond(10)}})
	check(err)
	d, err := limiter.Allow(ctx, "project:123")
	switch {
	case err != nil:
		fmt.Println("nothing was decided:", err)
	case !d.Allowed:
		fmt.Println("again in", d.RetryAfter)
	default:
		fmt.Println("remaining", d.Remaining)
	}

	// With a limit that is known only when the call comes:
	d, err = limiter.AllowLimits(ctx, "project:456", 3, []weir.Limit{weir.PerMinute(100)})
	check(err)
	fmt.Println("remaining", d.Remaining)
	// Output:
	// remaining 9
	// remaining 97
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
