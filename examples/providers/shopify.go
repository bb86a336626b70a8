package providers

import (
	"net/http"
	"time"

	"github.com/goweir/weir"
)

// Shopify returns a client of one shop's REST Admin API, such as shop.myshopify.com, on
// the standard plan. Its token bucket has 40 units, less one as a margin.
//
//	shopify-shop-api-call   a bucket of 39 requests, 2 per second
func Shopify(store weir.Store, token, shop string, base http.RoundTripper) (*http.Client, error) {
	calls, err := level(store, "shopify-shop-api-call", weir.KeyHost(), weir.Per(2, time.Second).WithBurst(39))
	if err != nil {
		return nil, err
	}
	return newClient(shop, header{"X-Shopify-Access-Token", token}, base, calls)
}

// ShopifyGraphQL is Shopify for the GraphQL Admin API, which counts points. Its bucket
// has 2000 points, less those of 50 ms as a margin.
//
//	shopify/points   a bucket of 1995 points, 100 per second: an estimate, settled by the body
func ShopifyGraphQL(store weir.Store, token, shop string, base http.RoundTripper) (*http.Client, error) {
	points, err := level(store, "shopify/points", weir.KeyHost(), weir.Per(100, time.Second).WithBurst(1995))
	if err != nil {
		return nil, err
	}
	points.Cost = func(*http.Request) (int64, error) { return 100, nil }
	points.Settle = usage("actualQueryCost")
	return newClient(shop, header{"X-Shopify-Access-Token", token}, base, points)
}
