// Provider is an API for .ci/stranger: it enforces a limit of one request in any
// second, for all clients together.
//
//	go run ./.ci/provider
//
// It prints its URL first, and then a line for each request: the time in seconds since
// its start, and "admitted" or "refused".
package main

import (
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/weirtest"
)

func main() {
	start := time.Now()
	s, err := weirtest.NewServer(weirtest.ProviderConfig{
		Limits: []weir.Limit{weir.PerSecond(1).By(weir.SlidingWindow)},
		Hook: func(_ http.Header, _ *http.Request, a weirtest.Answer) {
			outcome := "admitted"
			if a.Refused != weirtest.NotRefused {
				outcome = "refused"
			}
			fmt.Printf("%.3f %s\n", a.Now.Sub(start).Seconds(), outcome)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.URL)
	select {} // until a signal
}
