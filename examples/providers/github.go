package providers

import (
	"net/http"
	"strings"
	"time"

	"github.com/goweir/weir"
)

// GitHub returns a client of the REST API for one token.
//
//	github/search      30 requests per minute
//	github/core        5000 requests per hour
//	github/secondary   900 points per minute, 1 for a read and 5 for a write; 90 calls under way
func GitHub(store weir.Store, token string, base http.RoundTripper) (*http.Client, error) {
	key := perToken("Authorization")
	search, err := level(store, "github/search", only(key, isSearch), weir.Outbound(30, time.Minute))
	if err != nil {
		return nil, err
	}
	core, err := level(store, "github/core", only(key, func(r *http.Request) bool { return !isSearch(r) }), weir.Outbound(5000, time.Hour))
	if err != nil {
		return nil, err
	}
	search.SkipNoKey, core.SkipNoKey = true, true
	points, err := weir.New(weir.Config{
		Name: "github/secondary", Store: store, Limits: []weir.Limit{weir.Outbound(900, time.Minute)}, InFlight: 90,
	})
	if err != nil {
		return nil, err
	}
	secondary := weir.TransportLevel{Limiter: points, Key: key, Cost: func(r *http.Request) (int64, error) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			return 1, nil
		}
		return 5, nil
	}}
	return newClient("api.github.com", bearer(token), base, search, core, secondary)
}

func isSearch(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/search/") }

// only limits key to some requests; the others have no key.
func only(key weir.KeyFunc, counts func(*http.Request) bool) weir.KeyFunc {
	return func(r *http.Request) (string, error) {
		if !counts(r) {
			return "", weir.ErrNoKey
		}
		return key(r)
	}
}
