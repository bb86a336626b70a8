package migration

import (
	"net/http"

	"golang.org/x/time/rate"

	"github.com/goweir/weir"
)

// xtimeBefore is a common RoundTripper around golang.org/x/time/rate.
type xtimeBefore struct {
	limiter *rate.Limiter // rate.NewLimiter(10, 5)
	base    http.RoundTripper
}

func (t *xtimeBefore) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.limiter.Wait(r.Context()); err != nil {
		return nil, err
	}
	return t.base.RoundTrip(r)
}

func xtimeAfter(store weir.Store, base http.RoundTripper) (http.RoundTripper, error) {
	limiter, err := weir.New(weir.Config{
		Name:   "provider",
		Store:  store,
		Limits: []weir.Limit{weir.PerSecond(10).WithBurst(5)},
	})
	if err != nil {
		return nil, err
	}
	return weir.NewTransport(weir.TransportConfig{Limiter: limiter, Key: weir.KeyHost(), Base: base})
}
