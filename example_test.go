package weir_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/localstore"
)

// exampleLimiter returns a limiter over a store of its own.
func exampleLimiter(limits ...weir.Limit) *weir.Limiter {
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	l, err := weir.New(weir.Config{Store: store, Limits: limits})
	if err != nil {
		log.Fatal(err)
	}
	return l
}

func ExampleNew() {
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	limiter, err := weir.New(weir.Config{
		Name:   "api",
		Store:  store,
		Limits: []weir.Limit{weir.PerSecond(10).WithBurst(20), weir.PerDay(100_000)},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(limiter.Limits())

	_, err = weir.New(weir.Config{Store: store, Limits: []weir.Limit{weir.PerSecond(0)}})
	fmt.Println(err)
	// Output:
	// [10-in-1s 100000-in-1d]
	// weir: Config.Limits[0].Rate: want 1 to 2^50, got 0
}

func ExampleLimiter_Allow() {
	limiter := exampleLimiter(weir.PerHour(2))
	for range 3 {
		d, err := limiter.Allow(context.Background(), "alice")
		if err != nil {
			log.Fatal(err) // the store failed; a refusal is no error
		}
		fmt.Println(d.Allowed, d.Remaining)
	}
	// Output:
	// true 1
	// true 0
	// false 0
}

func ExampleLimiter_Wait() {
	limiter := exampleLimiter(weir.PerSecond(100).WithBurst(1))
	for i := range 3 {
		// The second and the third call each wait for their slot, 10 ms after
		// the one before.
		if err := limiter.Wait(context.Background(), "alice"); err != nil {
			log.Fatal(err)
		}
		fmt.Println("call", i)
	}
	// Output:
	// call 0
	// call 1
	// call 2
}

// A wait that would pass the context's deadline fails at once.
func ExampleLimiter_Wait_deadline() {
	limiter := exampleLimiter(weir.PerHour(1))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	fmt.Println(limiter.Wait(ctx, "alice"))

	err := limiter.Wait(ctx, "alice")
	var limited *weir.LimitedError
	if errors.As(err, &limited) {
		fmt.Println(limited.Limit, limited.Bound == weir.BoundDeadline)
	}
	// Output:
	// <nil>
	// 1-in-1h true
}

func ExampleLimiter_Reserve() {
	limiter := exampleLimiter(weir.PerHour(1))
	ctx := context.Background()
	now, err := limiter.Reserve(ctx, "alice")
	if err != nil {
		log.Fatal(err)
	}
	later, err := limiter.Reserve(ctx, "alice")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(now.Delay(), later.Delay().Round(time.Hour))

	// An hour is too long: the slot goes back.
	if err := later.Cancel(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 0s 1h0m0s
}

func ExampleLimiter_Do() {
	limiter := exampleLimiter(weir.PerSecond(100))
	err := limiter.Do(context.Background(), "reports", func(context.Context) error {
		fmt.Println("one job of a hundred per second")
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: one job of a hundred per second
}
