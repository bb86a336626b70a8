package weir_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/goweir/weir"
)

// complete stands for a call of a language model, which says in its response
// how many tokens it used.
func complete(_ context.Context, prompt string) (tokens int64, err error) {
	return int64(len(strings.Fields(prompt))) * 100, nil
}

// A provider counts tokens, which are known only when the answer is there: the
// estimate is booked before the call, and corrected after it.
func ExampleLimiter_DoN() {
	tokens := exampleLimiter(weir.PerDay(10_000))
	ctx := context.Background()
	for _, prompt := range []string{"tell me a joke", "explain to me how a token bucket that runs backwards works"} {
		err := tokens.DoN(ctx, "model", 1000, func(ctx context.Context) (int64, error) {
			return complete(ctx, prompt)
		})
		if err != nil {
			log.Fatal(err)
		}
		left, err := tokens.Peek(ctx, "model")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(left.Remaining)
	}
	// Output:
	// 9600
	// 8500
}

func ExampleReservation_Settle() {
	points := exampleLimiter(weir.PerDay(1000).By(weir.SlidingWindow))
	ctx := context.Background()
	r, err := points.ReserveN(ctx, "alice", 500)
	if err != nil {
		log.Fatal(err)
	}
	// The query runs, and its response says that it cost 120 points.
	if err := r.Settle(ctx, 120); err != nil {
		log.Fatal(err)
	}
	left, err := points.Peek(ctx, "alice")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(left.Remaining)
	// Output: 880
}
