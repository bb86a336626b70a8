package plainstore_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/plainstore"
	"github.com/redis/go-redis/v9"
)

// A Limiter makes such requests itself: its Config takes the Store, and fixed windows
// as Limits.
func Example() {
	server, err := miniredis.Run() // a real one, for you
	check(err)
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { _ = client.Close() }()
	ctx := context.Background()

	plain, err := plainstore.New(plainstore.Config{Client: client})
	check(err)
	req := store.Request{Charges: []store.Charge{{
		Scope: "api", Key: "customer-1", Cost: 6, Limit: store.Per(10, time.Minute).By(store.FixedWindow),
	}}}
	for range 2 {
		d, err := plain.Take(ctx, req)
		check(err)
		fmt.Println(d.Allowed, "with", d.Remaining, "remaining")
	}
	req.MaxWait = time.Second
	_, err = plain.Take(ctx, req)
	fmt.Println(errors.Is(err, store.ErrUnsupported), err)
	// Output:
	// true with 4 remaining
	// false with 4 remaining
	// true plainstore: Request.MaxWait: want 0 (calls can't wait here: use Limiter.Allow, or Refuse of a Transport), got 1s
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
