package report

import (
	"fmt"

	"github.com/goweir/weir/benchmarks/data"
	"github.com/goweir/weir/benchmarks/measure"
)

func (w *writer) local() {
	r := w.r
	who := r.Who(data.Local, data.NsPerOp)
	if len(who) == 0 {
		return
	}
	w.line("## A decision within the process")
	w.line("Nanoseconds per decision of all callers together, one caller per core. Keys are asked for in an order that no cache likes.")
	w.chart("local.svg", "nanoseconds per decision")
	for _, allowed := range []bool{true, false} {
		var columns []column
		for _, cores := range []int{1, 2} {
			for _, keys := range []int{1, 1000, 1_000_000} {
				title := fmt.Sprintf("%s, %d cores", data.Keys(keys), cores)
				if cores == 1 {
					title = data.Keys(keys) + ", 1 core"
				}
				columns = append(columns, metric(r, title, data.Local, data.Decisions(keys, cores, allowed), data.NsPerOp, whole, lowest))
			}
		}
		name := data.Decisions(1000, 1, allowed)
		columns = append(columns, metric(r, "allocations", data.Local, name, data.Allocs, whole, lowest))
		if allowed {
			w.line("Allowed:\n\n%s", table("ns", who, columns))
		} else {
			w.line("Refused:\n\n%s", table("ns", who, columns))
		}
	}
	names := r.Cases(data.Memory, data.BytesPerKey)
	if len(names) == 0 {
		return
	}
	w.line("### Memory per tracked key")
	w.line("Bytes of the process for each of %s, its text of 17 characters among them.", names[0])
	w.chart("memory.svg", "bytes per tracked key")
	w.line("%s", table("", r.Who(data.Memory, data.BytesPerKey), []column{metric(r, "bytes per key", data.Memory, names[0], data.BytesPerKey, whole, lowest)}))
}

func (w *writer) http() {
	r := w.r
	if len(r.Who(data.HTTP, data.Overhead)) == 0 {
		return
	}
	w.line("## HTTP")
	w.line("The cost of a middleware for a request, over a handler that does nothing in the same framework, with a store within the process. " +
		"weir hashes the key and sets RateLimit-Policy and RateLimit; the others set X-RateLimit fields where they set any.")
	w.chart("middleware.svg", "nanoseconds of middlewares")
	over := func(name string) []column {
		return []column{
			metric(r, "ns", data.HTTP, name, data.Overhead, whole, lowest),
			metric(r, "allocations", data.HTTP, name, data.OverAllocs, whole, lowest),
		}
	}
	who := r.Who(data.HTTP, data.Overhead)
	loaded := metric(r, "ns, 64 MB in use", data.HTTP, measure.Loaded, data.Overhead, whole, lowest)
	w.line("%s", table("Middleware", who, append(over(measure.Middlewares), loaded)))
	w.line("A process with nothing in use, as this one is in the first column, collects its garbage a few hundred times a second, " +
		"which counts for those who allocate much. Servers have something in use.")
	w.line("The cost of an http.RoundTripper for a request that need not wait, over a base that does nothing:")
	w.chart("transport.svg", "nanoseconds of transports")
	w.line("%s", table("Transport", who, over(measure.Transports)))
}

func (w *writer) server() {
	r := w.r
	who := r.Who(data.Server, data.BytesPerKey)
	if len(who) == 0 {
		return
	}
	one, many := measure.AfterUnits(1), measure.AfterUnits(1000)
	w.line("## Memory of the server")
	w.line("Bytes per tracked key: what MEMORY USAGE says of all Redis keys that are kept for it, and by how much used_memory rises, which has the expiry and the tables of keys in it too. The former leaves out weir's probes, 18 keys in all, which are gone after 10 s.")
	w.chart("server-memory.svg", "bytes per key")
	w.line("%s", table("bytes", who, []column{
		metric(r, "MEMORY USAGE, "+one, data.Server, one, data.BytesPerKey, whole, lowest),
		metric(r, "used_memory, "+one, data.Server, one, "used_memory/key", whole, lowest),
		metric(r, "MEMORY USAGE, "+many, data.Server, many, data.BytesPerKey, whole, lowest),
		metric(r, "Redis keys", data.Server, one, "Redis keys/key", short, none),
	}))
}

func (w *writer) outage() {
	r := w.r
	for _, name := range []string{measure.Killed, measure.Stopped} {
		who := r.Who(data.Outage, data.Typical)
		if len(who) == 0 {
			return
		}
		if name == measure.Killed {
			w.line("## When the server is away")
			w.line("Milliseconds that a call takes when the server was killed (its port refuses connections), one call after the other. " +
				"Each contender as its documentation recommends it: weir and httprate with a fallback behind them, the others with an error.")
		} else {
			w.line("The same when the server was stopped: it accepts, and answers nothing. A call whose time is over 30 s had not ended by then.")
		}
		of := func(title, m string, format func(float64) string, best order) column {
			return metric(r, title, data.Outage, name, m, format, best)
		}
		w.line("%s", table("ms", who, []column{
			of("first call", data.First, short, lowest),
			of("median", data.Typical, short, lowest),
			of("longest", data.Longest, short, lowest),
			of("longest, context of 50 ms", data.Honoured, short, lowest),
			of("calls that fail", data.Failed, percent, none),
		}))
	}
}

func (w *writer) exact() {
	r := w.r
	who := r.Who(data.Exact, data.Admitted)
	if len(who) == 0 {
		return
	}
	w.line("## Exactness")
	w.line("%s ask for four times the limit.", measure.ExactCase)
	of := func(title, m string, format func(float64) string) column {
		return metric(r, title, data.Exact, measure.ExactCase, m, format, none)
	}
	off := of("off by", data.Admitted, percent)
	admitted, most := query{r}.value, query{r}.value
	off.best = lowest
	off.value = func(who string) (float64, bool) {
		a, ok := admitted(data.Exact, measure.ExactCase, who, data.Admitted)()
		l, also := most(data.Exact, measure.ExactCase, who, data.Most)()
		if !ok || !also || l == 0 {
			return 0, false
		}
		return 100 * max(a-l, l-a) / l, true
	}
	w.line("%s", table("", who, []column{
		of("admitted", data.Admitted, whole), of("limit", data.Most, whole), off, of("seconds, with the processes' start", data.Seconds, short),
	}))
}

func (w *writer) waiting() {
	r := w.r
	who := r.Who(data.Waiting, data.Late)
	if len(who) == 0 {
		return
	}
	w.line("## Waiting")
	w.line("Callers who come at almost the same time to one key with 100 units per second. A wait's ideal is that all go one after the other, " +
		"10 ms apart, in the order in which they came. redis_rate can't wait: its callers sleep for RetryAfter and ask again. " +
		"x/time/rate and failsafe-go wait within the process, and ask no store.")
	for _, name := range r.Cases(data.Waiting, data.Late) {
		w.line("%s:\n\n%s", name, table("", who, []column{
			metric(r, "store calls per admission", data.Waiting, name, data.Calls, short, lowest),
			metric(r, "longest wait ÷ its ideal", data.Waiting, name, data.Late, short, lowest),
			metric(r, "overtaken by one who came later", data.Waiting, name, data.Disorder, percent, lowest),
		}))
	}
}
