package otelweir

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/instruments"
)

// scope is the name of the instrumentation.
const scope = "github.com/goweir/weir/otelweir"

// Config configures Instruments; see New. Its zero value is ready.
type Config struct {
	// MeterProvider makes the instruments. Nil: otel.GetMeterProvider().
	MeterProvider metric.MeterProvider
	// NoSpans leaves the caller's span alone. False: it gets the events and attributes
	// of the package's doc.
	NoSpans bool
}

// Instruments record the events of limiters. They are safe for concurrent use, and made
// by New. They start no goroutine. Zero Instruments record nothing.
type Instruments struct {
	metrics
	resolved     *instruments.Series[string, limiter]
	watched      instruments.Watched
	registration metric.Registration
	noSpans      bool
}

// New returns Instruments, or the error of the meter that can't make one. Close ends the
// reading of numbers.
func New(cfg Config) (*Instruments, error) {
	if cfg.MeterProvider == nil {
		cfg.MeterProvider = otel.GetMeterProvider()
	}
	i := &Instruments{noSpans: cfg.NoSpans}
	meter := cfg.MeterProvider.Meter(scope)
	if err := i.open(meter); err != nil {
		return nil, err
	}
	i.resolved = instruments.NewSeries(0, i.limiter, nil)
	var err error
	i.registration, err = meter.RegisterCallback(i.read, i.waiting, i.inFlight, i.state, i.away)
	if err != nil {
		return nil, err
	}
	return i, nil
}

// Close ends the reading of the limiters' and stores' numbers. Events still count.
func (i *Instruments) Close() error {
	if i.registration == nil { // New did not make them.
		return nil
	}
	return i.registration.Unregister()
}

// Watch exports how many calls of the limiters wait and are in flight. Limiters of one
// name count together. Watch keeps no limiter from being collected as garbage, and
// ignores nil.
func (i *Instruments) Watch(limiters ...*weir.Limiter) { i.watched.Add(limiters...) }

// WatchFallback exports the state of a store under a name. A later store of the same
// name replaces an earlier one; nil removes it. For the changes, set OnChange of
// fallback.Config to weir.ObserveFallback of the Instruments and the same name.
func (i *Instruments) WatchFallback(name string, s Fallback) { i.watched.AddFallback(name, s) }

// Fallback is the part of a fallback.Store that is watched.
type Fallback = instruments.Fallback

// read reads the present numbers. It asks no store.
func (i *Instruments) read(_ context.Context, to metric.Observer) error {
	for name, n := range i.watched.Stats() {
		to.ObserveInt64(i.waiting, n[0], with(limiterKey.String(name)))
		to.ObserveInt64(i.inFlight, n[1], with(limiterKey.String(name)))
	}
	for name, s := range i.watched.Fallbacks() {
		to.ObserveInt64(i.state, int64(s.State()), with(storeKey.String(name)))
		away, _ := s.Away()
		to.ObserveFloat64(i.away, away.Seconds(), with(storeKey.String(name)))
	}
	return nil
}
