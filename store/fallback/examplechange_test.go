package fallback_test

import (
	"errors"
	"fmt"
	"log"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/weirtest"
)

// changing is a RoundTripper whose limit changes while the program runs. Calls that wait
// keep the Transport that they began with.
type changing struct {
	now atomic.Pointer[weir.Transport]
}

func (c *changing) RoundTrip(r *http.Request) (*http.Response, error) {
	return c.now.Load().RoundTrip(r)
}

// A program gets a larger quota, and goes on without a restart.
func Example_newLimit() {
	redis, err := localstore.New(localstore.Config{}) // a redisstore in a program of yours
	if err != nil {
		log.Fatal(err)
	}
	provider, err := weirtest.NewProvider(weirtest.ProviderConfig{})
	if err != nil {
		log.Fatal(err)
	}
	transport := new(changing)
	set := func(limit weir.Limit) error {
		store, err := fallback.New(fallback.Config{Primary: redis, Replicas: 3}) // anew for each limit
		if err != nil {
			return err
		}
		limiter, err := weir.New(weir.Config{Name: "provider", Store: store, Limits: []weir.Limit{limit}})
		if err != nil {
			return err
		}
		t, err := weir.NewTransport(weir.TransportConfig{Limiter: limiter, Key: weir.KeyHost(), Refuse: true, Base: provider.Transport()})
		if err != nil {
			return err
		}
		transport.now.Store(t)
		return nil
	}
	client := &http.Client{Transport: transport}
	for _, limit := range []weir.Limit{weir.Outbound(1, time.Hour), weir.Outbound(2, time.Hour)} {
		if err := set(limit); err != nil {
			log.Fatal(err)
		}
		for range 2 {
			resp, err := client.Get("https://api.example.com/v1/things")
			if err != nil {
				fmt.Println(limit, "refuses:", errors.Is(err, weir.ErrLimited))
				continue
			}
			_ = resp.Body.Close()
			fmt.Println(limit, resp.Status)
		}
	}
	// Output:
	// 1-in-1h 200 OK
	// 1-in-1h refuses: true
	// 2-in-1h 200 OK
	// 2-in-1h refuses: true
}
