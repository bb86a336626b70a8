package howto

import (
	"context"
	"net/http"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// Traffic has the three kinds of traffic of one service, over one store.
type Traffic struct {
	Provider *http.Client                    // 2 calls per second to a provider
	API      func(http.Handler) http.Handler // 10 requests at once and 5 per second, by user
	tasks    *weir.Limiter                   // one task each 500 ms, by business
}

// NewTraffic returns the limits. user returns the user that the authentication put
// into the context. A nil base is http.DefaultTransport.
func NewTraffic(store weir.Store, user func(context.Context) (string, bool), base http.RoundTripper) (*Traffic, error) {
	limiter := func(name string, limit weir.Limit) (*weir.Limiter, error) {
		return weir.New(weir.Config{Name: name, Store: store, Limits: []weir.Limit{limit}, MaxWait: 5 * time.Minute})
	}
	provider, err := limiter("provider", weir.Outbound(2, time.Second))
	if err != nil {
		return nil, err
	}
	tasks, err := limiter("tasks", weir.Per(1, 500*time.Millisecond))
	if err != nil {
		return nil, err
	}
	api, err := limiter("api", weir.PerSecond(5).WithBurst(10))
	if err != nil {
		return nil, err
	}
	transport, err := weir.NewTransport(weir.TransportConfig{Limiter: provider, Key: weir.KeyHost(), Base: base})
	if err != nil {
		return nil, err
	}
	limit, err := middleware.New(middleware.Config{Limiter: api, Key: weir.KeyContext(user)})
	if err != nil {
		return nil, err
	}
	return &Traffic{Provider: &http.Client{Transport: transport}, API: limit, tasks: tasks}, nil
}

// Task runs a task of a business in its turn.
func (t *Traffic) Task(ctx context.Context, business string, run func(context.Context) error) error {
	return t.tasks.Do(ctx, business, run)
}
