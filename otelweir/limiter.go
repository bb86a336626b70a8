package otelweir

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/instruments"
)

// limiter holds the resolved attributes of one limiter.
type limiter struct {
	of      *metrics
	name    string
	takes   [8]atomic.Pointer[[]metric.RecordOption] // answered ones, by source
	limits  *instruments.Series[weir.Limit, limit]
	budgets *instruments.Series[string, metric.MeasurementOption]
}

// limiter returns the attributes of a limiter.
func (m *metrics) limiter(name string) *limiter {
	return &limiter{
		of: m, name: name,
		limits: instruments.NewSeries(instruments.MaxLimits, func(l weir.Limit) *limit {
			return newLimit(m, name, l.Policy())
		}, func() *limit { return newLimit(m, name, "other") }),
		budgets: instruments.NewSeries(instruments.MaxBudgets, func(b string) *metric.MeasurementOption {
			return new(with(limiterKey.String(name), budgetKey.String(b)))
		}, nil),
	}
}

// called records a call of the store. Most calls are answered takes.
func (l *limiter) called(ctx context.Context, e *weir.Event) {
	source, answered := min(e.Decision.Source, 7), e.Op == "take" && e.Err == nil
	if options := l.takes[source].Load(); answered && options != nil {
		l.of.calls.Record(ctx, e.Took.Seconds(), *options...)
		return
	}
	attributes := []attribute.KeyValue{limiterKey.String(l.name), operationKey.String(e.Op), sourceKey.String(source.String())}
	if e.Err != nil {
		attributes = append(attributes, errorKey.String(e.Result()))
	}
	options := []metric.RecordOption{with(attributes...)}
	if answered {
		l.takes[source].Store(&options)
	}
	l.of.calls.Record(ctx, e.Took.Seconds(), options...)
}

// limit holds the resolved attributes of one limit.
type limit struct {
	of              *metrics
	limiter, policy string
	near            []metric.AddOption
	decisions       [8][8]atomic.Pointer[[]metric.AddOption] // by reason and source
}

func newLimit(m *metrics, limiter, policy string) *limit {
	return &limit{of: m, limiter: limiter, policy: policy, near: adding(limiterKey.String(limiter), limitKey.String(policy))}
}

// decided counts a decision.
func (l *limit) decided(ctx context.Context, e *weir.Event) {
	reason, source := min(e.Decision.Reason, 7), min(e.Decision.Source, 7)
	options := &l.decisions[reason][source]
	if options.Load() == nil {
		made := adding(limiterKey.String(l.limiter), limitKey.String(l.policy), resultKey.String(reason.String()), sourceKey.String(source.String()))
		options.Store(&made)
	}
	l.of.decisions.Add(ctx, 1, *options.Load()...)
	if instruments.NearLimit(e) {
		l.of.near.Add(ctx, 1, l.near...)
	}
}

// adding returns the options of a counter's Add.
func adding(attributes ...attribute.KeyValue) []metric.AddOption {
	return []metric.AddOption{with(attributes...)}
}

func with(attributes ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attributes...))
}

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
