package retry_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/retry"
	"github.com/goweir/weir/store/localstore"
)

// A client that tries again. Each attempt takes a unit of the limit.
func Example() {
	var calls atomic.Int32
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	defer api.Close()
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	limiter, err := weir.New(weir.Config{Name: "provider", Store: store, Limits: []weir.Limit{weir.Outbound(10, time.Hour)}})
	if err != nil {
		log.Fatal(err)
	}

	transport, err := weir.NewTransport(weir.TransportConfig{Limiter: limiter, Key: weir.KeyStatic("api")})
	if err != nil {
		log.Fatal(err)
	}
	again, err := retry.New(retry.Config{
		Base:    transport, // admits and charges each attempt
		Max:     3,
		MaxWait: time.Minute,
		Observe: func(_ *http.Request, a retry.Attempt) { fmt.Println("attempt", a.Number, "after status", a.Status) },
	})
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: again, Timeout: 2 * time.Minute} // for all attempts together

	resp, err := client.Get(api.URL)
	if err != nil {
		log.Fatal(err)
	}
	_ = resp.Body.Close()
	left, err := limiter.Peek(context.Background(), "api")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.Status, "with", left.Remaining, "of 10 units left")
	// Output:
	// attempt 2 after status 502
	// 200 OK with 8 of 10 units left
}
