package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/goweir/weir/benchmarks/data"
	"github.com/goweir/weir/benchmarks/measure"
)

// Leases is the name of the contender that takes units ahead.
const Leases = "weir (leases)"

// goal is a condition on a measured value.
type goal struct {
	number  int
	what    string
	atLeast bool // the measured value must be at least the bound, not at most
	bound   float64
	unit    string
	measure func() (float64, bool)
}

// holds returns the measured value, whether the goal holds, and whether there is a
// measurement.
func (g goal) holds() (value float64, holds, measured bool) {
	value, measured = g.measure()
	if !measured || math.IsNaN(value) {
		return 0, false, false
	}
	if g.atLeast {
		return value, value >= g.bound, true
	}
	return value, value <= g.bound, true
}

// goals returns all goals.
func goals(r *data.Results) []goal {
	q := query{r}
	var all []goal
	most := func(number int, what, unit string, bound float64, f func() (float64, bool)) {
		all = append(all, goal{number, what, false, bound, unit, f})
	}
	least := func(number int, what, unit string, bound float64, f func() (float64, bool)) {
		all = append(all, goal{number, what, true, bound, unit, f})
	}

	for _, allowed := range []bool{true, false} {
		for _, keys := range []int{1, 1000, 1_000_000} {
			for _, cores := range []int{1, 2} {
				name := data.Decisions(keys, cores, allowed)
				most(1, "in process, "+name+": weir ÷ the fastest rival", "×", 1, q.overFastest(data.Local, name, data.NsPerOp))
			}
		}
	}
	most(1, "in process: allocations", "", 0, q.value(data.Local, data.Decisions(1000, 1, true), "weir", data.Allocs))

	const own = "weir"
	speed := func(number int, part string, keys, callers int, allowed bool, rival string, bound float64) {
		name := data.Decisions(keys, callers, allowed)
		least(number, part+", "+name+": decisions/s, weir ÷ "+rival, "×", bound, q.ratio(part, name, data.PerSecond, own, rival))
	}
	speed(2, data.Redis, 1, 8, true, "rueidislimiter", 1)
	speed(2, data.Redis, 1, 64, true, "redis_rate", 6)
	speed(2, data.Redis, 1, 64, true, "rueidislimiter", 2.8)
	speed(2, data.Redis, 1, 256, true, "redis_rate", 20)
	speed(2, data.Redis, 1, 256, true, "rueidislimiter", 8)
	most(2, "redis, "+data.Decisions(1, 256, true)+": script calls per decision", "", 0.05,
		q.value(data.Redis, data.Decisions(1, 256, true), own, data.Scripts))

	speed(3, data.Redis, 10_000, 8, true, "ulule/limiter", 1)
	speed(3, data.Redis, 10_000, 8, true, "rueidislimiter", 1)
	speed(3, data.Redis, 10_000, 64, true, "redis_rate", 4)
	speed(3, data.Redis, 10_000, 64, true, "rueidislimiter", 1.8)
	speed(3, data.Redis, 10_000, 256, true, "redis_rate", 5)
	speed(3, data.Redis, 10_000, 256, true, "rueidislimiter", 2)
	for _, callers := range []int{64, 256} {
		least(3, fmt.Sprintf("redis, %s: decisions/s with %s ÷ with %s", data.Callers(callers), data.Keys(1_000_000), data.Keys(10_000)), "×", 0.8,
			divide(q.value(data.Redis, data.Decisions(1_000_000, callers, true), own, data.PerSecond), q.value(data.Redis, data.Decisions(10_000, callers, true), own, data.PerSecond)))
	}
	speed(3, data.Cluster, 10_000, 64, true, "redis_rate", 3)
	speed(3, data.Cluster, 10_000, 256, true, "redis_rate", 3)

	lone := data.Decisions(1, 1, true)
	most(4, "a lone caller: p50, weir ÷ minimal GCRA", "×", 1.05, q.ratio(data.Redis, lone, data.P50, own, "minimal GCRA"))
	most(4, "a lone caller: allocations more than minimal GCRA", "", 0,
		minus(q.value(data.Redis, lone, own, data.Allocs), q.value(data.Redis, lone, "minimal GCRA", data.Allocs)))
	for _, keys := range []int{1, 10_000} {
		name := data.Decisions(keys, 64, true)
		most(4, "redis, "+name+": p99, weir ÷ rueidislimiter", "×", 1, q.ratio(data.Redis, name, data.P99, own, "rueidislimiter"))
	}

	refused := data.Decisions(1, 64, false)
	speed(5, data.Redis, 1, 64, false, "redis_rate", 50)
	most(5, "redis, "+refused+": script calls per decision", "", 0.001, q.value(data.Redis, refused, own, data.Scripts))
	most(5, "admitted ÷ limit, "+measure.ExactCase, "×", 1, q.share(own))
	least(5, "admitted ÷ limit, "+measure.ExactCase, "×", 1, q.share(own))

	for _, keys := range []int{1, 10_000} {
		name := data.Decisions(keys, 256, true)
		least(6, "redis, "+name+": leases, millions of decisions/s", "M/s", 3, divide(q.value(data.Redis, name, Leases, data.PerSecond), constant(1e6)))
	}
	most(6, "leases: admitted ÷ limit, "+measure.ExactCase, "×", 1, q.share(Leases))

	over := func(name, who, metric string) func() (float64, bool) { return q.value(data.HTTP, name, who, metric) }
	mw := over(measure.Middlewares, own, data.Overhead)
	most(7, "middleware, weir ÷ httprate", "×", 0.5, divide(mw, over(measure.Middlewares, "httprate", data.Overhead)))
	most(7, "middleware: allocations", "", 4, over(measure.Middlewares, own, data.OverAllocs))
	most(7, "middleware in gin, more than in net/http", "ns", 150, minus(over(measure.Middlewares, "weir for gin", data.Overhead), mw))
	most(7, "middleware in echo, more than in net/http", "ns", 150, minus(over(measure.Middlewares, "weir for echo", data.Overhead), mw))
	most(7, "transport over its base", "ns", 200, over(measure.Transports, own, data.Overhead))
	most(7, "transport: allocations", "", 2, over(measure.Transports, own, data.OverAllocs))

	for _, callers := range []int{1, 64} {
		name := data.Decisions(10_000, callers, true)
		most(8, "redis, "+name+": script calls per decision", "", 1.001, q.value(data.Redis, name, own, data.Scripts))
		most(8, "redis, "+name+": the server's CPU, weir ÷ minimal GCRA", "×", 1.15, q.ratio(data.Redis, name, data.CPU, own, "minimal GCRA"))
	}
	memory := func(who string, units int) func() (float64, bool) {
		return q.value(data.Server, measure.AfterUnits(units), who, data.BytesPerKey)
	}
	most(8, "server memory per key, one GCRA limit", "B", 140, memory(own, 1))
	most(8, "server memory per key, three limits", "B", 200, memory("weir (three limits)", 1))
	most(8, "server memory per key, exact window of 1000 units", "B", 12*1000+250, memory("weir (exact window)", 1000))

	waiters := measure.Waiters(1000)
	most(9, waiters+": store calls per admission", "", 1.005, q.value(data.Waiting, waiters, own, data.Calls))
	most(9, waiters+": longest wait ÷ its ideal", "×", 1.05, q.value(data.Waiting, waiters, own, data.Late))
	return append(all, networkGoals(q)...)
}

// Goals writes the table of goals.
func Goals(r *data.Results) string {
	var b strings.Builder
	held, measured := 0, 0
	all := goals(r)
	for _, g := range all {
		sign := "≤"
		if g.atLeast {
			sign = "≥"
		}
		value, holds, ok := g.holds()
		text, verdict := "–", "not measured"
		if ok {
			measured++
			text, verdict = strings.TrimSpace(short(value)+" "+g.unit), "**no**"
			if holds {
				held++
				verdict = "yes"
			}
		}
		fmt.Fprintf(&b, "| %d | %s | %s %s | %s | %s |\n", g.number, g.what, sign, strings.TrimSpace(short(g.bound)+" "+g.unit), text, verdict)
	}
	return fmt.Sprintf("%d of %d hold; %d were not measured.\n\n| # | Goal | Bound | Measured | Holds |\n|---|---|--:|--:|---|\n%s",
		held, len(all), len(all)-measured, b.String())
}
