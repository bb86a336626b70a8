package promweir

import (
	"context"
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/instruments"
	"github.com/goweir/weir/retry"
)

// Observe is a [weir.Hook].
func (c *Collector) Observe(_ context.Context, e weir.Event) {
	if c.limiters == nil { // New did not make it.
		return
	}
	switch e.Kind {
	case weir.EventDecision:
		l := c.limiters.Get(e.Scope)
		if e.Op != "" {
			l.called(&e)
		}
		l.limits.Get(e.Decision.Limit).decided(&e)
		if e.Decision.OtherLimits {
			c.others.WithLabelValues(e.Scope).Inc()
		}
	case weir.EventWait:
		c.waits.WithLabelValues(e.Scope, e.Result()).Observe(e.Took.Seconds())
	case weir.EventStoreCall:
		c.limiters.Get(e.Scope).called(&e)
		if errors.Is(e.Err, weir.ErrStore) {
			c.failures.WithLabelValues(e.Scope, e.Op).Inc()
		}
	case weir.EventLeaseLost:
		c.lost.WithLabelValues(e.Scope).Inc()
	case weir.EventRefusal:
		c.refusals.WithLabelValues(e.Scope, instruments.Status(e.Status), instruments.Said(&e)).Inc()
	case weir.EventBudget:
		if name := c.limiters.Get(e.Scope).budgets.Get(instruments.Clean(e.Budget.Name)); name != nil {
			told(c.limit, e.Scope, *name, e.Budget.Limit)
			told(c.remaining, e.Scope, *name, e.Budget.Remaining)
		}
	case weir.EventPaused:
		c.pauses.WithLabelValues(e.Scope, instruments.Clean(e.By)).Observe(e.Pause.Seconds())
	case weir.EventSlowed:
		c.slowdowns.WithLabelValues(e.Scope, instruments.Clean(e.By)).Inc()
	case weir.EventLifted:
		c.lifts.WithLabelValues(e.Scope, instruments.Clean(e.By)).Inc()
	case weir.EventSettled:
		c.estimated.WithLabelValues(e.Scope).Add(float64(e.Cost))
		c.settled.WithLabelValues(e.Scope).Add(float64(e.Actual))
	case weir.EventFallback:
		c.changes.WithLabelValues(instruments.Clean(e.Scope), instruments.To(&e)).Inc()
	}
}

// Retried returns a function for retry.Config.Observe. It counts further attempts under a
// limiter's name.
func (c *Collector) Retried(limiter string) func(*http.Request, retry.Attempt) {
	if c.retries == nil {
		return func(*http.Request, retry.Attempt) {}
	}
	counter := c.retries.WithLabelValues(instruments.Clean(limiter))
	return func(*http.Request, retry.Attempt) { counter.Inc() }
}

// told sets the gauge of a budget. -1 is a value that the response does not name.
func told(to *prometheus.GaugeVec, limiter, budget string, units int64) {
	if units >= 0 {
		to.WithLabelValues(limiter, budget).Set(float64(units))
	}
}
