package providers

import (
	"net/http"
	"strings"
	"time"

	"github.com/goweir/weir"
)

// Stripe returns a client for one secret key in live mode. A sandbox has 25 per second.
//
//	stripe/endpoint-rate   25 requests per second for each resource
//	stripe/global-rate     100 requests per second
func Stripe(store weir.Store, token string, base http.RoundTripper) (*http.Client, error) {
	key := perToken("Authorization")
	resource := func(r *http.Request) (string, error) { // /v1/charges/ch_1
		parts := strings.SplitN(r.URL.Path, "/", 4)
		return parts[min(2, len(parts)-1)], nil
	}
	endpoint, err := level(store, "stripe/endpoint-rate", weir.KeyJoin(key, resource), weir.Outbound(25, time.Second))
	if err != nil {
		return nil, err
	}
	global, err := level(store, "stripe/global-rate", key, weir.Outbound(100, time.Second))
	if err != nil {
		return nil, err
	}
	return newClient("api.stripe.com", bearer(token), base, endpoint, global)
}
