package otelweir

import "go.opentelemetry.io/otel/attribute"

// The attributes.
const (
	limiterKey   = attribute.Key("weir.limiter")
	limitKey     = attribute.Key("weir.limit")
	resultKey    = attribute.Key("weir.result")
	sourceKey    = attribute.Key("weir.source")
	operationKey = attribute.Key("weir.operation")
	errorKey     = attribute.Key("error.type")
	statusKey    = attribute.Key("http.response.status_code")
	saidKey      = attribute.Key("weir.said")
	budgetKey    = attribute.Key("weir.budget")
	byKey        = attribute.Key("weir.by")
	storeKey     = attribute.Key("weir.store")
	toKey        = attribute.Key("weir.to")
	degradedKey  = attribute.Key("weir.degraded") // of spans
	secondsKey   = attribute.Key("weir.wait.seconds")
)
