package promweir_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goweir/weir"
	"github.com/goweir/weir/promweir"
	"github.com/goweir/weir/retry"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/localstore"
)

func Example() {
	redis, err := localstore.New(localstore.Config{}) // a redisstore in a program of yours
	if err != nil {
		log.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	metrics := promweir.New()
	registry.MustRegister(metrics)

	store, err := fallback.New(fallback.Config{Primary: redis, Replicas: 3, OnChange: weir.ObserveFallback(metrics.Observe, "redis")})
	if err != nil {
		log.Fatal(err)
	}
	metrics.WatchFallback("redis", store)

	limiter, err := weir.New(weir.Config{Store: store, Name: "github", Limits: []weir.Limit{weir.Outbound(25, 5*time.Second)}, Hook: metrics.Observe})
	if err != nil {
		log.Fatal(err)
	}
	metrics.Watch(limiter)

	transport, err := weir.NewTransport(weir.TransportConfig{Limiter: limiter, Key: weir.KeyHost()})
	if err != nil {
		log.Fatal(err)
	}
	retrying, err := retry.New(retry.Config{Base: transport, Observe: metrics.Retried("github")})
	if err != nil {
		log.Fatal(err)
	}

	_ = retrying // the Transport of an http.Client
	if err := limiter.Wait(context.Background(), "api.github.com"); err != nil {
		log.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range families {
		fmt.Println(f.GetName())
	}
	// Output:
	// weir_decisions_total
	// weir_fallback_away_seconds
	// weir_fallback_state
	// weir_in_flight
	// weir_retries_total
	// weir_store_duration_seconds
	// weir_waiting
}
