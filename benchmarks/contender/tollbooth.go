package contender

import (
	"context"
	"net/http"
	"time"

	"github.com/didip/tollbooth/v8"
	"github.com/didip/tollbooth/v8/limiter"
)

// Tollbooth is tollbooth: x/time/rate in a cache that drops keys.
func Tollbooth() Contender {
	return Contender{
		Name: "tollbooth", Module: "github.com/didip/tollbooth/v8",
		Note: "tollbooth's middleware counts by address and path beside the header: it can't leave them out.",
		Local: func(_ Cleaner, l Limit) (Decide, error) {
			lmt := newTollbooth(l)
			return func(_ context.Context, key string) (bool, error) {
				return tollbooth.LimitByKeys(lmt, []string{key}) == nil, nil
			}, nil
		},
		Web: Web{NetHTTP, func(_ Cleaner, l Limit, h http.Handler) (http.Handler, error) {
			lmt := newTollbooth(l).SetHeader(KeyHeader, nil).SetIPLookup(limiter.IPLookup{Name: "RemoteAddr"})
			return tollbooth.LimitHandler(lmt, h), nil
		}},
	}
}

func newTollbooth(l Limit) *limiter.Limiter {
	lmt := tollbooth.NewLimiter(1/l.Refill.Seconds(), &limiter.ExpirableOptions{DefaultExpirationTTL: time.Hour})
	return lmt.SetBurst(int(l.Burst))
}
