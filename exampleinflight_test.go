package weir_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/localstore"
)

// At most two reports of a customer are made at the same time, in all processes
// that share the store, and at most a hundred a minute.
func ExampleLimiter_Acquire() {
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	limiter, err := weir.New(weir.Config{
		Store:    store,
		Limits:   []weir.Limit{weir.PerMinute(100)},
		InFlight: 2,
		Lease:    10 * time.Second, // when a process dies, its calls count for so long
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for i := range 3 {
		lease, err := limiter.TryAcquire(ctx, "customer 7")
		if err != nil {
			fmt.Println(i, "too many at once")
			continue
		}
		defer lease.Release()
		fmt.Println(i, "makes its report")
	}
	// Output:
	// 0 makes its report
	// 1 makes its report
	// 2 too many at once
}
