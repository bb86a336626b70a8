package howto

import (
	"net/http"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// NewWindows returns a middleware that admits 3 requests of an API key in each
// window of 5 s. Windows begin at :00, :05, :10 and so on, in all replicas. Mount it
// inside the check of the API key.
func NewWindows(store weir.Store, secret []byte) (func(http.Handler) http.Handler, error) {
	limiter, err := weir.New(weir.Config{
		Name:   "api",
		Store:  store,
		Limits: []weir.Limit{weir.Per(3, 5*time.Second).By(weir.AlignedWindow)},
	})
	if err != nil {
		return nil, err
	}
	return middleware.New(middleware.Config{
		Limiter: limiter,
		Key:     weir.KeyAPIKey("X-API-Key", secret),
	})
}
