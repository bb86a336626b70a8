package promweir

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/goweir/weir/internal/instruments"
)

// gauges are read when they are collected.
type gauges struct {
	watched                        instruments.Watched
	waiting, inFlight, state, away *prometheus.Desc
}

func (g *gauges) open() {
	g.waiting = prometheus.NewDesc("weir_waiting", "Calls that wait.", []string{"limiter"}, nil)
	g.inFlight = prometheus.NewDesc("weir_in_flight", "Leases that this process holds.", []string{"limiter"}, nil)
	g.state = prometheus.NewDesc("weir_fallback_state", "0: the primary store decides, 1: it is away, 2: it is probed.", []string{"store"}, nil)
	g.away = prometheus.NewDesc("weir_fallback_away_seconds", "Time since the primary store went away. 0 while it is there.", []string{"store"}, nil)
}

func (g *gauges) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.waiting, g.inFlight, g.state, g.away} {
		to <- d
	}
}

func (g *gauges) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, label string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, label)
	}
	for name, n := range g.watched.Stats() {
		gauge(g.waiting, float64(n[0]), name)
		gauge(g.inFlight, float64(n[1]), name)
	}
	for name, s := range g.watched.Fallbacks() {
		gauge(g.state, float64(s.State()), name)
		away, _ := s.Away()
		gauge(g.away, away.Seconds(), name)
	}
}
