package promweir

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/goweir/weir"
	"github.com/goweir/weir/retry"
)

// Observe implements [weir.Hook].
func (c *Collector) Observe(_ context.Context, e weir.Event) {
	switch e.Kind {
	case weir.EventDecision:
		c.limiters.named(e.Scope).limit(&e.Decision.Limit).decided(&e.Decision, e.Cost)
		if e.Decision.OtherLimits {
			c.others.WithLabelValues(e.Scope).Inc()
		}
	case weir.EventWait:
		c.waits.WithLabelValues(e.Scope, e.Result()).Observe(e.Wait.Seconds())
	case weir.EventStoreCall:
		c.calls.WithLabelValues(e.Scope, e.Op, e.Decision.Source.String(), e.Result()).Observe(e.Took.Seconds())
	case weir.EventStoreError:
		op := "unknown"
		if failed, ok := errors.AsType[*weir.StoreError](e.Err); ok {
			op = failed.Op
		}
		c.failures.WithLabelValues(e.Scope, op).Inc()
	case weir.EventLeaseLost:
		c.lost.WithLabelValues(e.Scope).Inc()
	case weir.EventRefusal:
		said := "nothing"
		if e.Pause > 0 {
			said = "duration"
		}
		c.refusals.WithLabelValues(e.Scope, status(e.Status), said).Inc()
	case weir.EventBudget:
		c.limiters.named(e.Scope).told(e.Budget, e.Limit, e.Remaining)
	case weir.EventPaused:
		c.pauses.WithLabelValues(e.Scope, e.By.String()).Observe(e.Pause.Seconds())
	case weir.EventSlowed:
		c.slowdowns.WithLabelValues(e.Scope, e.By.String()).Inc()
	case weir.EventLifted:
		c.lifts.WithLabelValues(e.Scope, e.By.String()).Inc()
	case weir.EventSettled:
		c.estimated.WithLabelValues(e.Scope).Add(float64(e.Cost))
		c.settled.WithLabelValues(e.Scope).Add(float64(e.Actual))
	case weir.EventFallback:
		to := "back"
		if e.Away {
			to = "away"
		}
		c.changes.WithLabelValues(clean(e.Scope), to).Inc()
	}
}

// Retried returns a function for retry.Config.Observe. It counts further attempts under a
// limiter's name.
func (c *Collector) Retried(limiter string) func(*http.Request, retry.Attempt) {
	counter := c.retries.WithLabelValues(clean(limiter))
	return func(*http.Request, retry.Attempt) { counter.Inc() }
}

// status returns the label of a refusal's status. Other statuses share one.
func status(code int) string {
	switch code {
	case 403, 418, 420, 429, 503, 529:
		return strconv.Itoa(code)
	}
	return "other"
}

// clean returns a text from outside as a label's value.
func clean(name string) string {
	if name == "" {
		return "unnamed"
	}
	return strings.ToValidUTF8(name[:min(len(name), 64)], "?")
}
