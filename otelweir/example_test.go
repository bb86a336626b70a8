package otelweir_test

import (
	"context"
	"fmt"
	"log"

	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/goweir/weir"
	"github.com/goweir/weir/otelweir"
	"github.com/goweir/weir/store/localstore"
)

func Example() {
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	reader := sdk.NewManualReader() // an exporter in a program of yours
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))

	instruments, err := otelweir.New(otelweir.Config{MeterProvider: provider})
	if err != nil {
		log.Fatal(err)
	}
	limiter, err := weir.New(weir.Config{Store: store, Name: "github", Limits: []weir.Limit{weir.PerSecond(10)}, Hook: instruments.Observe})
	if err != nil {
		log.Fatal(err)
	}
	instruments.Watch(limiter)

	if _, err := limiter.Allow(context.Background(), "key"); err != nil {
		log.Fatal(err)
	}
	var found metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &found); err != nil {
		log.Fatal(err)
	}
	for _, m := range found.ScopeMetrics[0].Metrics {
		fmt.Println(m.Name)
	}
	// Output:
	// weir.decisions
	// weir.waiting
	// weir.in_flight
}
