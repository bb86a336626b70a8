package promweir

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/instruments"
)

// limiter holds the resolved series of one limiter: a decision looks up no labels.
type limiter struct {
	of      *Collector
	name    string
	takes   [8]atomic.Pointer[prometheus.Observer] // answered ones, by source
	limits  *instruments.Series[weir.Limit, limit]
	budgets *instruments.Series[string, string] // the names that have series
}

// limiter returns the series of a limiter.
func (c *Collector) limiter(name string) *limiter {
	return &limiter{
		of: c, name: name,
		limits: instruments.NewSeries(instruments.MaxLimits, func(l weir.Limit) *limit {
			return &limit{of: c, limiter: name, policy: l.Policy()}
		}, func() *limit { return &limit{of: c, limiter: name, policy: "other"} }),
		budgets: instruments.NewSeries(instruments.MaxBudgets, func(b string) *string { return &b }, nil),
	}
}

// called counts a call of the store. Most calls are answered takes.
func (l *limiter) called(e *weir.Event) {
	source, answered := min(e.Decision.Source, 7), e.Op == "take" && e.Err == nil
	if take := l.takes[source].Load(); answered && take != nil {
		(*take).Observe(e.Took.Seconds())
		return
	}
	result := "answered"
	if e.Err != nil {
		result = e.Result()
	}
	calls := l.of.calls.WithLabelValues(l.name, e.Op, source.String(), result)
	if answered {
		l.takes[source].Store(&calls)
	}
	calls.Observe(e.Took.Seconds())
}

// limit holds the resolved series of one limit.
type limit struct {
	of              *Collector
	limiter, policy string
	near            atomic.Pointer[prometheus.Counter]
	decisions       [8][8]atomic.Pointer[prometheus.Counter] // by reason and source
}

// decided counts a decision.
func (l *limit) decided(e *weir.Event) {
	reason, source := min(e.Decision.Reason, 7), min(e.Decision.Source, 7)
	counter := &l.decisions[reason][source]
	if counter.Load() == nil {
		made := l.of.decisions.WithLabelValues(l.limiter, l.policy, reason.String(), source.String())
		counter.Store(&made)
	}
	(*counter.Load()).Inc()
	if !instruments.NearLimit(e) {
		return
	}
	if l.near.Load() == nil {
		made := l.of.near.WithLabelValues(l.limiter, l.policy)
		l.near.Store(&made)
	}
	(*l.near.Load()).Inc()
}
