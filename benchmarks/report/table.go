package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goweir/weir/benchmarks/data"
)

// order names the best value of a column.
type order int

const (
	none order = iota
	lowest
	highest
)

// column is one of a table whose rows are contenders.
type column struct {
	title  string
	value  func(contender string) (float64, bool)
	format func(float64) string
	best   order
	failed func(contender string) bool
}

// metric is the column of a metric in a case.
func metric(r *data.Results, title, part, caseName, name string, format func(float64) string, best order) column {
	return column{
		title: title, format: format, best: best,
		value: func(who string) (float64, bool) {
			return r.Median(data.Key{Part: part, Case: caseName, Contender: who, Metric: name})
		},
		failed: func(who string) bool {
			return r.Failed(part, caseName, who) != "" || r.Failed(part, "", "") != ""
		},
	}
}

// any reports whether any value is above 0.
func (c column) any(who []data.Info) bool {
	return slices.ContainsFunc(who, func(w data.Info) bool {
		v, ok := c.value(w.Name)
		return ok && v > 0
	})
}

// table writes a table of the contenders with a value in any column. The best value of
// each column is bold; limits of the machine don't count.
func table(first string, who []data.Info, columns []column) string {
	rows, best := cells(who, columns)
	if len(rows) == 0 {
		return "Not measured.\n"
	}
	var b strings.Builder
	b.WriteString("| " + first + " |")
	for _, c := range columns {
		b.WriteString(" " + c.title + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("--:|", len(columns)) + "\n")
	for _, row := range rows {
		b.WriteString("| " + row.name + " |")
		for i, c := range columns {
			b.WriteString(" " + row.text(i, c, best[i]) + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// row has a contender's values; NaN is none.
type row struct {
	name   string
	values []float64
	plain  bool // is never the best
}

func (r row) text(i int, c column, best string) string {
	v := r.values[i]
	if math.IsNaN(v) {
		if c.failed != nil && c.failed(r.name) {
			return "fails"
		}
		return "–"
	}
	text := c.format(v)
	if !r.plain && text == best {
		return "**" + text + "**"
	}
	return text
}

// cells returns the rows, and the text of each column's best value: equal texts are
// equally good.
func cells(who []data.Info, columns []column) (rows []row, best []string) {
	best = make([]string, len(columns))
	leading := make([]float64, len(columns))
	for i := range leading {
		leading[i] = math.NaN()
	}
	for _, w := range who {
		r := row{name: w.Name, plain: w.Physical}
		any := false
		for i, c := range columns {
			v, ok := c.value(w.Name)
			if !ok {
				r.values = append(r.values, math.NaN())
				any = any || c.failed != nil && c.failed(w.Name)
				continue
			}
			any = true
			r.values = append(r.values, v)
			if r.plain || c.best == none {
				continue
			}
			if l := leading[i]; math.IsNaN(l) || c.best == lowest && v < l || c.best == highest && v > l {
				leading[i], best[i] = v, c.format(v)
			}
		}
		if any {
			rows = append(rows, r)
		}
	}
	return rows, best
}

// Formats of values.

// whole writes a whole number, with spaces between thousands.
func whole(v float64) string { return data.Count(int(math.Round(v))) }

// thousands writes a number in thousands.
func thousands(v float64) string {
	switch k := v / 1000; {
	case k < 9.95:
		return fmt.Sprintf("%.1f k", k)
	default:
		return whole(k) + " k"
	}
}

// short writes about three digits.
func short(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100:
		return whole(v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case a < 0.0005:
		return "0"
	case a < 0.1:
		return fmt.Sprintf("%.3f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

func percent(v float64) string { return short(v) + " %" }
