package howto

import (
	"net/http"
	"time"

	"github.com/goweir/weir"
)

// NewFleetClient returns the client of each worker of a job fleet. The provider
// allows 25 calls per 5 s and 300 per minute, to all workers together. A call waits
// for its turn, up to 10 minutes. A nil base is http.DefaultTransport.
func NewFleetClient(store weir.Store, base http.RoundTripper) (*http.Client, error) {
	limiter, err := weir.New(weir.Config{
		Name:  "provider",
		Store: store,
		Limits: []weir.Limit{
			weir.Outbound(25, 5*time.Second),
			weir.Outbound(300, time.Minute),
		},
	})
	if err != nil {
		return nil, err
	}
	transport, err := weir.NewTransport(weir.TransportConfig{
		Limiter: limiter,
		Key:     weir.KeyHost(),
		Base:    base,
		MaxWait: 10 * time.Minute,
	})
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: transport}, nil
}
