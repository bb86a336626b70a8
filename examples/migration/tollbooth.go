package migration

import (
	"net/http"

	"github.com/didip/tollbooth/v8"
	"github.com/didip/tollbooth/v8/limiter"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

func tollboothBefore(hello http.HandlerFunc) http.Handler {
	lmt := tollbooth.NewLimiter(5, nil).SetIPLookup(limiter.IPLookup{Name: "RemoteAddr"})
	mux := http.NewServeMux()
	mux.Handle("GET /hello/", tollbooth.LimitFuncHandler(lmt, hello))
	return mux
}

func tollboothAfter(store weir.Store, hello http.HandlerFunc) (http.Handler, error) {
	limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: []weir.Limit{weir.PerSecond(5)}})
	if err != nil {
		return nil, err
	}
	key := weir.KeyJoin(weir.KeyRemoteIP(), weir.KeyRoute())
	limit, err := middleware.New(middleware.Config{Limiter: limiter, Key: key, Headers: middleware.HeadersDraft6})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /hello/{name}", limit(hello))
	return mux, nil
}
