package report

import (
	"slices"
	"strings"

	"github.com/goweir/weir/benchmarks/data"
)

func (w *writer) redis() {
	r := w.r
	who := r.Who(data.Redis, data.PerSecond)
	if len(who) == 0 {
		w.cluster()
		return
	}
	w.line("## A decision by Redis")
	w.line("Decisions per second of one process. The server is on the same cores. Leases are used for two seconds before they are measured, as they follow how keys are used, and where there are many keys each of those gets a unit back each millisecond: under the limit of all others, a unit in ten minutes, no key could be used for long.")
	w.chart("redis-one-key.svg", "decisions per second on one key")
	w.chart("redis-many-keys.svg", "decisions per second on 10 000 keys")
	w.chart("redis-refused.svg", "refusals per second on one key")
	cases := r.Cases(data.Redis, data.PerSecond)
	for _, g := range []struct{ title, keys, outcome string }{
		{"One key, allowed", data.Keys(1), "allowed"},
		{"10 000 keys, allowed", data.Keys(10_000), "allowed"},
		{"1 000 keys, allowed", data.Keys(1000), "allowed"},
		{"1 000 000 keys, allowed", data.Keys(1_000_000), "allowed"},
		{"One key, refused", data.Keys(1), "refused"},
		{"10 000 keys, refused", data.Keys(10_000), "refused"},
	} {
		var speed, worst []column
		for _, c := range cases {
			if !strings.HasPrefix(c, g.keys+", ") || !strings.HasSuffix(c, ", "+g.outcome) {
				continue
			}
			callers := strings.Split(c, ", ")[1]
			speed = append(speed, metric(r, callers, data.Redis, c, data.PerSecond, thousands, highest))
			worst = append(worst, metric(r, "p99 µs, "+callers, data.Redis, c, data.P99, short, lowest))
			if callers == data.Callers(1) {
				worst = slices.Insert(worst, 0, metric(r, "p50 µs, "+callers, data.Redis, c, data.P50, short, lowest))
				worst = append(worst, metric(r, "allocations, "+callers, data.Redis, c, data.Allocs, short, lowest))
			}
			if fails := metric(r, "fail, "+callers, data.Redis, c, data.Errors, percent, none); fails.any(who) {
				worst = append(worst, fails)
			}
		}
		if len(speed) == 0 {
			continue
		}
		w.line("### %s\n\nDecisions per second:\n\n%s", g.title, table("", withLimits(who), speed))
		w.line("How long single calls take, and how many fail where any do:\n\n%s", table("", withLimits(who), worst))
	}
	w.cost()
	w.cluster()
}

// withLimits puts the limits of the machine last.
func withLimits(who []data.Info) []data.Info {
	who = slices.Clone(who)
	slices.SortStableFunc(who, func(a, b data.Info) int {
		switch {
		case a.Physical == b.Physical:
			return 0
		case a.Physical:
			return 1
		}
		return -1
	})
	return who
}

func (w *writer) cost() {
	r := w.r
	who := r.Who(data.Redis, data.CPU)
	w.line("### Cost of a decision for the server")
	w.line("Commands are those that the server carried out, within scripts too; µs of CPU those of the whole redis-server process; µs in scripts as INFO commandstats has them; bytes those on the wire.")
	for _, name := range r.Cases(data.Redis, data.CPU) {
		if !strings.Contains(name, data.Callers(64)) {
			continue
		}
		var columns []column
		for _, m := range []string{data.Scripts, data.Commands, data.CPU, data.InScript, data.BytesIn, data.BytesOut} {
			best := lowest
			if m == data.InScript {
				best = none // contenders without scripts would win
			}
			columns = append(columns, metric(r, m, data.Redis, name, m, short, best))
		}
		w.line("Per decision, %s:\n\n%s", name, table("", withLimits(who), columns))
	}
}

func (w *writer) cluster() {
	r := w.r
	who := r.Who(data.Cluster, data.PerSecond)
	if len(who) == 0 {
		return
	}
	w.line("## A decision by a cluster")
	w.line("Decisions per second of one process; three masters on the same cores.")
	var columns []column
	for _, name := range r.Cases(data.Cluster, data.PerSecond) {
		columns = append(columns,
			metric(r, strings.TrimSuffix(name, ", allowed"), data.Cluster, name, data.PerSecond, thousands, highest))
	}
	w.line("%s", table("", withLimits(who), columns))
}
