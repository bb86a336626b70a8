package promweir

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/instruments"
)

// vectors are the vectors with series that are resolved once: a decision looks up no
// labels.
type vectors struct {
	decisions *prometheus.CounterVec
	near      *prometheus.CounterVec
	limit     *prometheus.GaugeVec
	remaining *prometheus.GaugeVec
	calls     *prometheus.HistogramVec
}

// limiter holds the resolved series of one limiter.
type limiter struct {
	of      *vectors
	name    string
	takes   [8]atomic.Pointer[prometheus.Observer] // answered ones, by source
	limits  *instruments.Series[weir.Limit, limit]
	budgets *instruments.Series[string, budget]
}

// limiter returns the series of a limiter.
func (v *vectors) limiter(name string) *limiter {
	return &limiter{
		of: v, name: name,
		limits: instruments.NewSeries(instruments.MaxLimits, func(l weir.Limit) *limit {
			return &limit{of: v, limiter: name, policy: l.Policy()}
		}, func() *limit { return &limit{of: v, limiter: name, policy: "other"} }),
		budgets: instruments.NewSeries(instruments.MaxBudgets, func(b string) *budget { return &budget{v, name, b} }, nil),
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
	of              *vectors
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

// budget is a budget of an upstream.
type budget struct {
	of            *vectors
	limiter, name string
}

// told sets the series of a budget. -1 is a value that the response does not name.
func (b *budget) told(limit, remaining int64) {
	if limit >= 0 {
		b.of.limit.WithLabelValues(b.limiter, b.name).Set(float64(limit))
	}
	if remaining >= 0 {
		b.of.remaining.WithLabelValues(b.limiter, b.name).Set(float64(remaining))
	}
}
