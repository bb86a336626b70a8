package promweir

import (
	"slices"
	"sync"
	"time"
	"weak"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/fallback"
)

// gauges are read when they are collected.
type gauges struct {
	waiting, inFlight, state, away *prometheus.Desc

	mu        sync.Mutex
	limiters  []weak.Pointer[weir.Limiter]
	fallbacks map[string]Fallback
}

func (g *gauges) open() {
	g.waiting = prometheus.NewDesc("weir_waiting", "Calls that wait.", []string{"limiter"}, nil)
	g.inFlight = prometheus.NewDesc("weir_in_flight", "Leases that this process holds.", []string{"limiter"}, nil)
	g.state = prometheus.NewDesc("weir_fallback_state", "0: the primary store decides, 1: it is away, 2: it is probed.", []string{"store"}, nil)
	g.away = prometheus.NewDesc("weir_fallback_away_seconds", "Time since the primary store went away. 0 while it is there.", []string{"store"}, nil)
	g.fallbacks = make(map[string]Fallback)
}

// Fallback is the part of a [fallback.Store] that is watched.
type Fallback interface {
	State() fallback.State
	Away() (time.Duration, error)
}

// watch adds limiters, and forgets those that are gone.
func (g *gauges) watch(limiters []*weir.Limiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limiters = slices.DeleteFunc(g.limiters, func(p weak.Pointer[weir.Limiter]) bool { return p.Value() == nil })
	for _, l := range limiters {
		if p := weak.Make(l); l != nil && !slices.Contains(g.limiters, p) {
			g.limiters = append(g.limiters, p)
		}
	}
}

// watchFallback sets the store of a name. Nil: none.
func (g *gauges) watchFallback(name string, s Fallback) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s == nil {
		delete(g.fallbacks, name)
		return
	}
	g.fallbacks[name] = s
}

func (g *gauges) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.waiting, g.inFlight, g.state, g.away} {
		to <- d
	}
}

func (g *gauges) Collect(to chan<- prometheus.Metric) {
	stats, fallbacks := g.read()
	gauge := func(d *prometheus.Desc, value float64, label string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, label)
	}
	for name, s := range stats {
		gauge(g.waiting, float64(s.Waiting), name)
		gauge(g.inFlight, float64(s.InFlight), name)
	}
	for name, s := range fallbacks {
		gauge(g.state, float64(s.State()), name)
		away, _ := s.Away()
		gauge(g.away, away.Seconds(), name)
	}
}

// read returns the sums of the limiters' numbers, by name, and a copy of the stores.
func (g *gauges) read() (map[string]weir.Stats, map[string]Fallback) {
	g.mu.Lock()
	defer g.mu.Unlock()
	sums, fallbacks := make(map[string]weir.Stats), make(map[string]Fallback, len(g.fallbacks))
	for _, p := range g.limiters {
		if l := p.Value(); l != nil {
			sum, s := sums[l.Name()], l.Stats()
			sums[l.Name()] = weir.Stats{Waiting: sum.Waiting + s.Waiting, InFlight: sum.InFlight + s.InFlight}
		}
	}
	for name, s := range g.fallbacks {
		fallbacks[name] = s
	}
	return sums, fallbacks
}
