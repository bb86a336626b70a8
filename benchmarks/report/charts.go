package report

import (
	"github.com/goweir/weir/benchmarks/data"
	"github.com/goweir/weir/benchmarks/measure"
)

// ChartDir is the path from BENCHMARKS.md to the charts.
const ChartDir = "docs/benchmarks"

// Charts returns the charts with measured values, by file name.
func Charts(r *data.Results) map[string]string {
	charts := make(map[string]string)
	add := func(name string, rows []barRow, draw func() string) {
		if len(rows) > 0 {
			charts[name] = draw()
		}
	}
	for _, c := range []struct {
		file, title string
		keys        int
		allowed     bool
	}{
		{"redis-one-key.svg", "Redis, one hot key, allowed: decisions per second, by goroutines", 1, true},
		{"redis-many-keys.svg", "Redis, 10 000 keys, allowed: decisions per second, by goroutines", 10_000, true},
		{"redis-refused.svg", "Redis, one hot key, refused: decisions per second, by goroutines", 1, false},
	} {
		l := lines{title: c.title}
		var cases []string
		for _, callers := range []int{1, 8, 64, 256} {
			l.x = append(l.x, data.Count(callers))
			cases = append(cases, data.Decisions(c.keys, callers, c.allowed))
		}
		l.rows = chartRows(r, data.Redis, cases, data.PerSecond, 2)
		add(c.file, l.rows, l.draw)
	}

	local := bars{title: "In process, allowed, one core: ns per decision", format: whole, log: true}
	var cases []string
	for _, keys := range []int{1, 1000, 1_000_000} {
		local.groups = append(local.groups, data.Keys(keys))
		cases = append(cases, data.Decisions(keys, 1, true))
	}
	local.rows = chartRows(r, data.Local, cases, data.NsPerOp, 2)
	local.byFirst(false)
	add("local.svg", local.rows, local.draw)

	for _, c := range []struct{ file, title, part, name, metric string }{
		{"middleware.svg", "Middleware: ns over a handler that does nothing", data.HTTP, measure.Middlewares, data.Overhead},
		{"transport.svg", "Transport: ns over a base that does nothing", data.HTTP, measure.Transports, data.Overhead},
		{"server-memory.svg", "Redis memory: bytes per key, after one unit", data.Server, measure.AfterUnits(1), data.BytesPerKey},
	} {
		b := bars{title: c.title, groups: []string{""}, format: whole}
		b.rows = chartRows(r, c.part, []string{c.name}, c.metric, 1)
		b.byFirst(false)
		add(c.file, b.rows, b.draw)
	}
	if names := r.Cases(data.Memory, data.BytesPerKey); len(names) > 0 {
		b := bars{title: "Process memory: bytes per tracked key", groups: []string{""}, format: whole}
		b.rows = chartRows(r, data.Memory, names[:1], data.BytesPerKey, 1)
		b.byFirst(false)
		add("memory.svg", b.rows, b.draw)
	}
	return charts
}

// chartRows returns the rows with at least that many values in the cases. A missing value
// is -1.
func chartRows(r *data.Results, part string, cases []string, metric string, least int) []barRow {
	var rows []barRow
	for _, who := range r.Who(part, metric) {
		row, has := barRow{label: who.Name, own: who.Own, limit: who.Physical}, 0
		for _, name := range cases {
			v, ok := r.Median(data.Key{Part: part, Case: name, Contender: who.Name, Metric: metric})
			if ok {
				has++
			} else {
				v = -1
			}
			row.values = append(row.values, v)
		}
		if has >= least {
			rows = append(rows, row)
		}
	}
	return rows
}
