package report

import (
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/benchmarks/data"
	"github.com/goweir/weir/benchmarks/measure"
)

func TestNetwork(t *testing.T) {
	r := sample()
	add := func(name, who, metric string, value float64) {
		r.Add(data.Key{Part: data.Network, Case: name, Contender: who, Metric: metric}, value)
	}
	link := measure.Link{RTT: 4 * time.Millisecond}
	for callers, weir := range map[int]float64{1: 4000, 20: 4800, 100: 4400} {
		add(link.Calls(measure.Many, callers), "weir", data.P50, weir)
		add(link.Calls(measure.Many, callers), "script of weir", data.P50, 4000)
	}
	add(measure.Link{RTT: time.Millisecond, TLS: true}.Calls(1, 20), "weir", data.P90, 1500)
	add(measure.Link{RTT: time.Millisecond, TLS: true}.Calls(1, 20), "weir", data.P50, 1250)
	add(link.Calls(1, measure.Crowd), "weir", data.PerSecond, 90_000)
	add(link.Calls(1, measure.Crowd), "redis_rate", data.PerSecond, 30_000)
	text := strings.ReplaceAll(Markdown(r), "\u00a0", " ")
	for name, want := range map[string]string{
		"numbers of goroutines are columns":  "| ms | p50, 1 goroutine | p50, 20 goroutines | p50, 100 goroutines |",
		"milliseconds are shown":             "| weir | **4.00** | **4.80** | **4.40** |",
		"other networks are columns":         "| ms | p50, RTT 1 ms, TLS | p90, RTT 1 ms, TLS |",
		"the worst number counts":            "RTT 4 ms, 10 000 keys: p50, weir ÷ script of weir, with the worst number of goroutines | ≤ 1.05 × | 1.20 × | **no** |",
		"full load counts against rivals":    "weir ÷ redis_rate | ≥ 3.00 × | 3.00 × | yes |",
		"a rate of all callers is thousands": "| weir | **90 k** |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s: no %q in\n%s", name, want, text)
		}
	}
}
