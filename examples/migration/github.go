package migration

import (
	"net/http"
	"time"

	"github.com/gofri/go-github-ratelimit/v2/github_ratelimit"

	"github.com/goweir/weir"
	"github.com/goweir/weir/retry"
)

func githubBefore(base http.RoundTripper) *http.Client {
	return github_ratelimit.NewClient(base)
}

func githubAfter(store weir.Store, base http.RoundTripper) (*http.Client, error) {
	limiter, err := weir.New(weir.Config{
		Name: "github/core", Store: store, Limits: []weir.Limit{weir.Outbound(5000, time.Hour)},
	})
	if err != nil {
		return nil, err
	}
	limited, err := weir.NewTransport(weir.TransportConfig{
		Limiter: limiter,
		Key:     weir.KeyJoin(weir.KeyHost(), weir.KeyAPIKey("Authorization", nil)),
		Base:    base,
		MaxWait: 5 * time.Minute,
	})
	if err != nil {
		return nil, err
	}
	again, err := retry.New(retry.Config{Base: limited}) // a 403 too, but not for lack of rights
	return &http.Client{Transport: again}, err
}
