// Command jobs runs background tasks through Limiter.Do: one per second over all callers,
// and none that would wait too long.
//
//	go run ./examples/jobs
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/localstore"
)

func main() {
	// With a redisstore, all processes together run one task per second.
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	limiter, err := weir.New(weir.Config{
		Name:    "jobs",
		Store:   store,
		Limits:  []weir.Limit{weir.PerSecond(1)},
		MaxWait: 2500 * time.Millisecond,
	})
	if err != nil {
		log.Fatal(err)
	}

	start := time.Now()
	var jobs sync.WaitGroup
	for range 5 {
		jobs.Go(func() {
			err := limiter.Do(context.Background(), "reports", func(context.Context) error {
				fmt.Printf("%.0fs: a report is made\n", time.Since(start).Seconds())
				return nil
			})
			var limited *weir.LimitedError
			switch {
			case errors.As(err, &limited):
				// Nothing was booked: a scheduler puts the job back until that time.
				fmt.Printf("%.0fs: too long a wait, retry after %v\n",
					time.Since(start).Seconds(), limited.RetryAfter.Round(time.Second))
			case err != nil:
				log.Print(err) // an error of the store or the job
			}
		})
	}
	jobs.Wait()
}
