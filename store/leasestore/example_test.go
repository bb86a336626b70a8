package leasestore_test

import (
	"context"
	"fmt"
	"log"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/leasestore"
	"github.com/goweir/weir/store/localstore"
)

func Example() {
	redis, err := localstore.New(localstore.Config{}) // or a redisstore, or a fallback store around it
	if err != nil {
		log.Fatal(err)
	}

	leased, err := leasestore.New(leasestore.Config{Store: redis})
	if err != nil {
		log.Fatal(err)
	}
	defer func() {
		if err := leased.Close(); err != nil { // gives unused units back
			log.Print(err)
		}
	}()

	limiter, err := weir.New(weir.Config{Store: leased, Limits: []weir.Limit{weir.PerHour(100_000)}, Name: "search"})
	if err != nil {
		log.Fatal(err)
	}
	admitted := 0
	for range 110_000 {
		d, err := limiter.Allow(context.Background(), "everybody")
		if err != nil {
			log.Fatal(err)
		}
		if d.Allowed {
			admitted++
		}
	}
	fmt.Println(admitted >= 100_000, admitted < 100_100)
	// Output: true true
}
