package otelweir

import (
	"errors"

	"go.opentelemetry.io/otel/metric"

	"github.com/goweir/weir/internal/instruments"
)

// metrics are the instruments.
type metrics struct {
	decisions, near, others     metric.Int64Counter
	lost, failures, refusals    metric.Int64Counter
	slowdowns, lifts, retries   metric.Int64Counter
	estimated, settled, changes metric.Int64Counter
	waits, calls, pauses        metric.Float64Histogram
	limit, remaining            metric.Int64Gauge
	waiting, inFlight           metric.Int64ObservableUpDownCounter
	state                       metric.Int64ObservableGauge
	away                        metric.Float64ObservableGauge
}

// open makes the instruments.
func (m *metrics) open(meter metric.Meter) error {
	var errs []error
	counter := func(to *metric.Int64Counter, name, unit, description string) {
		made, err := meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
		*to, errs = made, append(errs, err)
	}
	histogram := func(to *metric.Float64Histogram, name, description string, buckets []float64) {
		made, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description), metric.WithExplicitBucketBoundaries(buckets...))
		*to, errs = made, append(errs, err)
	}
	gauge := func(to *metric.Int64Gauge, name, description string) {
		made, err := meter.Int64Gauge(name, metric.WithUnit("{unit}"), metric.WithDescription(description))
		*to, errs = made, append(errs, err)
	}
	calls := func(to *metric.Int64ObservableUpDownCounter, name, description string) {
		made, err := meter.Int64ObservableUpDownCounter(name, metric.WithUnit("{call}"), metric.WithDescription(description))
		*to, errs = made, append(errs, err)
	}
	counter(&m.decisions, "weir.decisions", "{decision}", "Decisions.")
	counter(&m.near, "weir.near_limit", "{decision}", "Calls that were admitted with at most 20 % of the limit left.")
	counter(&m.others, "weir.other_limits", "{decision}", "Decisions on keys that also count under limits which the call does not name.")
	histogram(&m.waits, "weir.wait.duration", "Time from a call to the end of its wait.", instruments.WaitBuckets)
	calls(&m.waiting, "weir.waiting", "Calls that wait.")
	calls(&m.inFlight, "weir.in_flight", "Leases that this process holds.")
	counter(&m.lost, "weir.leases.lost", "{lease}", "Calls in flight that are not counted any more.")
	histogram(&m.calls, "weir.store.duration", "Time that calls of the store took.", instruments.StoreBuckets)
	counter(&m.failures, "weir.store.errors", "{error}", "Calls of the store that failed.")
	counter(&m.refusals, "weir.upstream.refusals", "{response}", "Requests that the upstream refused because of its limits.")
	gauge(&m.limit, "weir.upstream.limit", "Units of the upstream's full budget, by the last response.")
	gauge(&m.remaining, "weir.upstream.remaining", "Units left of the upstream's budget, by the last response.")
	histogram(&m.pauses, "weir.pause.duration", "Length of the pauses that were set.", instruments.PauseBuckets)
	counter(&m.slowdowns, "weir.slowdowns", "{slowdown}", "Rates that were lowered.")
	counter(&m.lifts, "weir.lifts", "{lift}", "Pauses and lower rates that were lifted before they ended.")
	counter(&m.retries, "weir.retries", "{attempt}", "Further attempts of requests.")
	counter(&m.estimated, "weir.estimated.units", "{unit}", "Estimated units of settled calls.")
	counter(&m.settled, "weir.settled.units", "{unit}", "Real units of settled calls.")
	counter(&m.changes, "weir.fallback.changes", "{change}", "Times that the primary store went away or came back.")
	var err error
	m.state, err = meter.Int64ObservableGauge("weir.fallback.state", metric.WithUnit("1"),
		metric.WithDescription("0: the primary store decides, 1: it is away, 2: it is probed."))
	errs = append(errs, err)
	m.away, err = meter.Float64ObservableGauge("weir.fallback.away", metric.WithUnit("s"),
		metric.WithDescription("Time since the primary store went away. 0 while it is there."))
	return errors.Join(append(errs, err)...)
}
