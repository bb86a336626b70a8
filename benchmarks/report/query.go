package report

import (
	"github.com/goweir/weir/benchmarks/data"
	"github.com/goweir/weir/benchmarks/measure"
)

// query reads medians. Each function returns false if one of its values is missing.
type query struct{ r *data.Results }

func (q query) value(part, caseName, who, metric string) func() (float64, bool) {
	return func() (float64, bool) {
		return q.r.Median(data.Key{Part: part, Case: caseName, Contender: who, Metric: metric})
	}
}

func (q query) ratio(part, caseName, metric, who, rival string) func() (float64, bool) {
	return divide(q.value(part, caseName, who, metric), q.value(part, caseName, rival, metric))
}

// overFastest is weir's value over the lowest of its rivals'.
func (q query) overFastest(part, caseName, metric string) func() (float64, bool) {
	return divide(q.value(part, caseName, "weir", metric), func() (lowest float64, ok bool) {
		for _, c := range q.r.Contenders {
			if c.Own || c.Physical {
				continue
			}
			if v, has := q.value(part, caseName, c.Name, metric)(); has && (!ok || v < lowest) {
				lowest, ok = v, true
			}
		}
		return lowest, ok
	})
}

// share is the part of the limit that was admitted.
func (q query) share(who string) func() (float64, bool) {
	return divide(q.value(data.Exact, measure.ExactCase, who, data.Admitted), q.value(data.Exact, measure.ExactCase, who, data.Most))
}

// highestOf is the maximum of the values that were measured.
func highestOf(values []func() (float64, bool)) func() (float64, bool) {
	return func() (highest float64, ok bool) {
		for _, value := range values {
			if v, has := value(); has {
				highest, ok = max(v, highest), true
			}
		}
		return highest, ok
	}
}

func constant(v float64) func() (float64, bool) { return func() (float64, bool) { return v, true } }

func divide(a, b func() (float64, bool)) func() (float64, bool) {
	return func() (float64, bool) {
		x, ok := a()
		y, also := b()
		if !ok || !also || y == 0 {
			return 0, false
		}
		return x / y, true
	}
}

func minus(a, b func() (float64, bool)) func() (float64, bool) {
	return func() (float64, bool) {
		x, ok := a()
		y, also := b()
		return x - y, ok && also
	}
}
