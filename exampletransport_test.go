package weir_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/localstore"
)

// A token's limit within a host's: a request waits for its token first, so that
// a token that has used up its own limit holds up nobody else.
func ExampleTransportConfig_within() {
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	token, err := weir.New(weir.Config{Name: "token", Store: store, Limits: []weir.Limit{weir.PerMinute(1)}})
	if err != nil {
		log.Fatal(err)
	}
	host, err := weir.New(weir.Config{Name: "host", Store: store, Limits: []weir.Limit{weir.PerMinute(2)}})
	if err != nil {
		log.Fatal(err)
	}
	api := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer api.Close()

	transport, err := weir.NewTransport(weir.TransportConfig{
		Limiter: token,
		Key:     weir.KeyBearer(nil),
		Levels:  []weir.TransportLevel{{Limiter: host}}, // by scheme and host
		Refuse:  true,
	})
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: transport}
	for _, token := range []string{"ann", "ann", "bob", "eve"} {
		req, err := http.NewRequest(http.MethodGet, api.URL, nil)
		if err != nil {
			log.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := client.Do(req)
		if err != nil {
			_, why, _ := strings.Cut(err.Error(), "weir: ")
			why, _, _ = strings.Cut(why, ": ")
			fmt.Println(token, "refused by", why)
			continue
		}
		_ = resp.Body.Close()
		fmt.Println(token, resp.Status)
	}
	// Output:
	// ann 200 OK
	// ann refused by client-side limit 1-in-1m of token
	// bob 200 OK
	// eve refused by client-side limit 2-in-1m of host
}
