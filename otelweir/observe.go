package otelweir

import (
	"context"
	"errors"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/instruments"
	"github.com/goweir/weir/retry"
)

// Observe is a [weir.Hook].
func (i *Instruments) Observe(ctx context.Context, e weir.Event) {
	if i.resolved == nil { // New did not make them.
		return
	}
	if !i.noSpans {
		annotate(trace.SpanFromContext(ctx), &e)
	}
	limiter := limiterKey.String(e.Scope)
	switch e.Kind {
	case weir.EventDecision:
		l := i.resolved.Get(e.Scope)
		if e.Op != "" {
			l.called(ctx, &e)
		}
		l.limits.Get(e.Decision.Limit).decided(ctx, &e)
		if e.Decision.OtherLimits {
			i.others.Add(ctx, 1, with(limiter))
		}
	case weir.EventWait:
		i.waits.Record(ctx, e.Took.Seconds(), with(limiter, resultKey.String(e.Result())))
	case weir.EventStoreCall:
		i.resolved.Get(e.Scope).called(ctx, &e)
		if errors.Is(e.Err, weir.ErrStore) {
			i.failures.Add(ctx, 1, with(limiter, operationKey.String(e.Op)))
		}
	case weir.EventLeaseLost:
		i.lost.Add(ctx, 1, with(limiter))
	case weir.EventRefusal:
		attributes := []attribute.KeyValue{limiter, saidKey.String(instruments.Said(&e))}
		if instruments.Status(e.Status) != "other" {
			attributes = append(attributes, statusKey.Int(e.Status))
		}
		i.refusals.Add(ctx, 1, with(attributes...))
	case weir.EventBudget:
		if attributes := i.resolved.Get(e.Scope).budgets.Get(instruments.Clean(e.Budget.Name)); attributes != nil {
			told(ctx, i.limit, e.Budget.Limit, *attributes)
			told(ctx, i.remaining, e.Budget.Remaining, *attributes)
		}
	case weir.EventPaused:
		i.pauses.Record(ctx, e.Pause.Seconds(), with(limiter, byKey.String(instruments.Clean(e.By))))
	case weir.EventSlowed:
		i.slowdowns.Add(ctx, 1, with(limiter, byKey.String(instruments.Clean(e.By))))
	case weir.EventLifted:
		i.lifts.Add(ctx, 1, with(limiter, byKey.String(instruments.Clean(e.By))))
	case weir.EventSettled:
		i.estimated.Add(ctx, e.Cost, with(limiter))
		i.settled.Add(ctx, e.Actual, with(limiter))
	case weir.EventFallback:
		i.changes.Add(ctx, 1, with(storeKey.String(instruments.Clean(e.Scope)), toKey.String(instruments.To(&e))))
	}
}

// told records the units of a budget. -1 is a value that the response does not name.
func told(ctx context.Context, to metric.Int64Gauge, units int64, attributes metric.MeasurementOption) {
	if units >= 0 {
		to.Record(ctx, units, attributes)
	}
}

// annotate shows a decision and a wait on the caller's span.
func annotate(span trace.Span, e *weir.Event) {
	if e.Kind != weir.EventDecision && e.Kind != weir.EventWait || !span.IsRecording() {
		return
	}
	limiter, result := limiterKey.String(e.Scope), resultKey.String(e.Result())
	if e.Kind == weir.EventDecision {
		span.SetAttributes(limiter, result, degradedKey.Bool(e.Decision.Degraded))
		return
	}
	span.AddEvent("weir.wait", trace.WithAttributes(limiter, result, secondsKey.Float64(e.Took.Seconds())))
}

// Retried returns a function for retry.Config.Observe. It counts further attempts under a
// limiter's name.
func (i *Instruments) Retried(limiter string) func(*http.Request, retry.Attempt) {
	if i.retries == nil {
		return func(*http.Request, retry.Attempt) {}
	}
	options := adding(limiterKey.String(instruments.Clean(limiter)))
	return func(req *http.Request, _ retry.Attempt) { i.retries.Add(req.Context(), 1, options...) }
}
