package migration

import (
	"context"
	"net/http"

	"github.com/goweir/weir"
	"github.com/goweir/weir/limitfile"
	"github.com/goweir/weir/middleware"
)

// envoyBefore is a file of github.com/envoyproxy/ratelimit.
const envoyBefore = `
domain: api
descriptors:
  - key: user
    rate_limit:
      unit: minute
      requests_per_unit: 100
  - key: user
    value: acme
    rate_limit:
      unit: hour
      requests_per_unit: 50000
`

// envoyAfter is the same for package limitfile.
const envoyAfter = `
default: user

plans:
  user:
    - {rate: 100, per: minute, algorithm: aligned_window}

keys:
  acme:
    - {rate: 50_000, per: hour, algorithm: aligned_window}
`

// envoyMiddleware limits users by such a file, which may change at run time.
func envoyMiddleware(store weir.Store, limits *limitfile.File, user func(context.Context) (string, bool)) (func(http.Handler) http.Handler, error) {
	key := weir.KeyContext(user)
	limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: []weir.Limit{weir.PerMinute(100)}})
	if err != nil {
		return nil, err
	}
	return middleware.New(middleware.Config{Limiter: limiter, Key: key, Limits: limits.Limits(key, nil)})
}
