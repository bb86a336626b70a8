package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/goweir/weir/benchmarks/data"
	"github.com/goweir/weir/benchmarks/measure"
)

func (w *writer) network() {
	r := w.r
	if len(r.Who(data.Network, data.P50)) == 0 {
		return
	}
	w.line("## A decision over a network")
	w.line("A proxy in a process of its own delays all bytes by half the round-trip time (RTT) in each direction, and keeps their order. "+
		"Each goroutine makes %d calls a second at random times, unless a call takes longer. All clients of go-redis have up to 256 connections. "+
		"minimal GCRA and the script of weir are one EVALSHA per call through the same client, the latter with weir's own arguments. Variants of weir have a fixed Config.RoundTrips; by default the number follows the round-trip time. Milliseconds:", 100)
	for _, keys := range []int{measure.Many, 1} {
		var others []measure.Link
		for _, l := range measure.Links(r.Quick) {
			if l.Plain() {
				w.paced(fmt.Sprintf("%s, %s", l, data.Keys(keys)), w.calls([]measure.Link{l}, keys))
			} else {
				others = append(others, l)
			}
		}
		w.paced(fmt.Sprintf("Jitter, TLS and a cluster of three masters, %s", data.Keys(keys)), w.calls(others, keys))
	}
	var speed []column
	for _, name := range r.Cases(data.Network, data.PerSecond) {
		speed = append(speed, metric(r, name, data.Network, name, data.PerSecond, thousands, highest))
	}
	w.line("Decisions per second of goroutines that don't pause:\n\n%s", table("", withLimits(r.Who(data.Network, data.PerSecond)), speed))
}

// calls returns the columns of paced calls over some links.
func (w *writer) calls(links []measure.Link, keys int) (columns []column) {
	cases := w.r.Cases(data.Network, data.P50)
	for _, m := range []struct{ name, title string }{{data.P50, "p50"}, {data.P90, "p90"}} {
		for _, l := range links {
			for _, callers := range measure.Paced {
				name := l.Calls(keys, callers)
				title := m.title + ", " + data.Callers(callers)
				if len(links) > 1 {
					title = m.title + ", " + l.String()
				}
				if slices.Contains(cases, name) {
					columns = append(columns, metric(w.r, title, data.Network, name, m.name, inMillis, lowest))
				}
			}
		}
	}
	if name := links[0].Calls(keys, 1); slices.Contains(cases, name) {
		columns = append(columns, metric(w.r, "allocations, "+data.Callers(1), data.Network, name, data.Allocs, short, lowest))
	}
	return columns
}

func (w *writer) paced(title string, columns []column) {
	if len(columns) > 0 {
		w.line("%s:\n\n%s", title, table("ms", withLimits(w.r.Who(data.Network, data.P50)), columns))
	}
}

// inMillis writes microseconds as milliseconds.
func inMillis(v float64) string { return short(v / 1000) }

// networkGoals compare paced calls with weir's own script, sent bare, and full load with
// rivals.
func networkGoals(q query) (all []goal) {
	const own, same, minimal = "weir", "script of weir", "minimal GCRA"
	for _, keys := range []int{measure.Many, 1} {
		for _, rtt := range measure.RTTs {
			link := measure.Link{RTT: rtt}
			for _, m := range []struct {
				name, title string
				bound       float64
			}{{data.P50, "p50", 1.05}, {data.P90, "p90", 1.1}} {
				var each []func() (float64, bool)
				for _, callers := range measure.Paced {
					each = append(each, q.ratio(data.Network, link.Calls(keys, callers), m.name, own, same))
				}
				what := fmt.Sprintf("%s, %s: %s, weir ÷ %s, with the worst number of goroutines", link, data.Keys(keys), m.title, same)
				all = append(all, goal{10, what, false, m.bound, "×", highestOf(each)})
			}
		}
	}
	lone := measure.Link{RTT: time.Millisecond}.Calls(measure.Many, 1)
	all = append(all,
		goal{10, lone + ": p50, weir ÷ " + minimal, false, 1.05, "×", q.ratio(data.Network, lone, data.P50, own, minimal)},
		goal{10, lone + ": allocations more than " + minimal, false, 0, "", minus(q.value(data.Network, lone, own, data.Allocs), q.value(data.Network, lone, minimal, data.Allocs))})
	for _, load := range []struct {
		keys  int
		bound float64
	}{{measure.Many, 1}, {1, 3}} {
		for _, rtt := range []time.Duration{time.Millisecond, 4 * time.Millisecond} {
			for _, rival := range []string{"redis_rate", "rueidislimiter"} {
				name := measure.Link{RTT: rtt}.Calls(load.keys, measure.Crowd)
				all = append(all, goal{10, name + ": decisions/s, weir ÷ " + rival, true, load.bound, "×", q.ratio(data.Network, name, data.PerSecond, own, rival)})
			}
		}
	}
	return all
}
