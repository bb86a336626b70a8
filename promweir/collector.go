package promweir

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/instruments"
)

// Collector counts the events of limiters. It is safe for concurrent use, and made by
// New. It starts no goroutine. A zero Collector counts nothing and has no series.
type Collector struct {
	limiters  *instruments.Series[string, limiter]
	decisions *prometheus.CounterVec
	near      *prometheus.CounterVec
	others    *prometheus.CounterVec
	waits     *prometheus.HistogramVec
	lost      *prometheus.CounterVec
	calls     *prometheus.HistogramVec
	failures  *prometheus.CounterVec
	refusals  *prometheus.CounterVec
	limit     *prometheus.GaugeVec
	remaining *prometheus.GaugeVec
	pauses    *prometheus.HistogramVec
	slowdowns *prometheus.CounterVec
	lifts     *prometheus.CounterVec
	retries   *prometheus.CounterVec
	estimated *prometheus.CounterVec
	settled   *prometheus.CounterVec
	changes   *prometheus.CounterVec
	vectors   []prometheus.Collector // all of them

	// Gauges are read when they are collected.
	watched                        instruments.Watched
	waiting, inFlight, state, away *prometheus.Desc
}

// New returns a Collector without series.
func New() *Collector {
	c := new(Collector)
	c.decisions = c.counter("weir_decisions_total", "Decisions.", "limiter", "limit", "result", "source")
	c.near = c.counter("weir_near_limit_total", "Calls that were admitted with at most 20 % of the limit left.", "limiter", "limit")
	c.others = c.counter("weir_other_limits_total", "Decisions on keys that also count under limits which the call does not name.", "limiter")
	c.waits = c.histogram("weir_wait_duration_seconds", "Time from a call to the end of its wait.", instruments.WaitBuckets, "limiter", "result")
	c.lost = c.counter("weir_leases_lost_total", "Calls in flight that are not counted any more.", "limiter")
	c.calls = c.histogram("weir_store_duration_seconds", "Time that calls of the store took.", instruments.StoreBuckets, "limiter", "operation", "source", "result")
	c.failures = c.counter("weir_store_errors_total", "Calls of the store that failed.", "limiter", "operation")
	c.refusals = c.counter("weir_upstream_refusals_total", "Requests that the upstream refused because of its limits.", "limiter", "status", "said")
	c.limit = c.gauge("weir_upstream_limit", "Units of the upstream's full budget, by the last response.", "limiter", "budget")
	c.remaining = c.gauge("weir_upstream_remaining", "Units left of the upstream's budget, by the last response.", "limiter", "budget")
	c.pauses = c.histogram("weir_pause_duration_seconds", "Length of the pauses that were set.", instruments.PauseBuckets, "limiter", "by")
	c.slowdowns = c.counter("weir_slowdowns_total", "Rates that were lowered.", "limiter", "by")
	c.lifts = c.counter("weir_lifts_total", "Pauses and lower rates that were lifted before they ended.", "limiter", "by")
	c.retries = c.counter("weir_retries_total", "Further attempts of requests.", "limiter")
	c.estimated = c.counter("weir_estimated_units_total", "Estimated units of settled calls.", "limiter")
	c.settled = c.counter("weir_settled_units_total", "Real units of settled calls.", "limiter")
	c.changes = c.counter("weir_fallback_changes_total", "Times that the primary store went away or came back.", "store", "to")
	c.waiting = prometheus.NewDesc("weir_waiting", "Calls that wait.", []string{"limiter"}, nil)
	c.inFlight = prometheus.NewDesc("weir_in_flight", "Leases that this process holds.", []string{"limiter"}, nil)
	c.state = prometheus.NewDesc("weir_fallback_state", "0: the primary store decides, 1: it is away, 2: it is probed.", []string{"store"}, nil)
	c.away = prometheus.NewDesc("weir_fallback_away_seconds", "Time since the primary store went away. 0 while it is there.", []string{"store"}, nil)
	c.limiters = instruments.NewSeries(0, c.limiter, nil)
	return c
}

func (c *Collector) counter(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	c.vectors = append(c.vectors, v)
	return v
}

func (c *Collector) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	c.vectors = append(c.vectors, v)
	return v
}

func (c *Collector) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	c.vectors = append(c.vectors, v)
	return v
}

// Watch exports how many calls of the limiters wait and are in flight. Limiters of one
// name count together. Watch keeps no limiter from being collected as garbage, and
// ignores nil.
func (c *Collector) Watch(limiters ...*weir.Limiter) { c.watched.Add(limiters...) }

// WatchFallback exports the state of a store under a name. A later store of the same
// name replaces an earlier one; nil removes it. For the changes, set OnChange of
// fallback.Config to weir.ObserveFallback of the Collector and the same name.
func (c *Collector) WatchFallback(name string, s Fallback) { c.watched.AddFallback(name, s) }

// Fallback is the part of a fallback.Store that is watched.
type Fallback = instruments.Fallback

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	if c.limiters == nil { // New did not make it.
		return
	}
	for _, v := range c.vectors {
		v.Describe(to)
	}
	for _, d := range []*prometheus.Desc{c.waiting, c.inFlight, c.state, c.away} {
		to <- d
	}
}

// Collect implements [prometheus.Collector]. It asks no store.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	if c.limiters == nil {
		return
	}
	for _, v := range c.vectors {
		v.Collect(to)
	}
	gauge := func(d *prometheus.Desc, value float64, label string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, label)
	}
	for name, n := range c.watched.Stats() {
		gauge(c.waiting, float64(n[0]), name)
		gauge(c.inFlight, float64(n[1]), name)
	}
	for name, s := range c.watched.Fallbacks() {
		gauge(c.state, float64(s.State()), name)
		away, _ := s.Away()
		gauge(c.away, away.Seconds(), name)
	}
}
