package migration

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/localstore"
)

// A GET is tried again after a 503, a POST is not. The last response is returned with its
// body. A refusal by the limit is not tried again.
func Example_retryablehttp() {
	var calls atomic.Int32
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, "call ", calls.Add(1))
	}))
	defer api.Close()
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	limiter, err := weir.New(weir.Config{Name: "provider", Store: store, Limits: []weir.Limit{weir.Outbound(4, time.Hour)}})
	if err != nil {
		log.Fatal(err)
	}
	transport, err := weir.NewTransport(weir.TransportConfig{Limiter: limiter, Key: weir.KeyHost(), Refuse: true})
	if err != nil {
		log.Fatal(err)
	}
	client := retryableAfter(transport)
	client.Logger = nil

	for _, send := range []func() (*http.Response, error){
		func() (*http.Response, error) { return client.Post(api.URL, "text/plain", nil) },
		func() (*http.Response, error) { return client.Get(api.URL) },
		func() (*http.Response, error) { return client.Get(api.URL) },
	} {
		resp, err := send()
		if err != nil {
			fmt.Println("not sent:", errors.Is(err, weir.ErrLimited))
			continue
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			log.Fatal(err)
		}
		_ = resp.Body.Close()
		fmt.Println(resp.Status, string(body))
	}
	// Output:
	// 503 Service Unavailable call 1
	// 503 Service Unavailable call 4
	// not sent: true
}
