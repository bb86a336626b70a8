package main

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/goweir/weir/cmd/weir/internal/simulate"
	"github.com/goweir/weir/internal/inspect"
	"github.com/guptarohit/asciigraph"
)

// print writes a table of at most 80 columns, and the charts.
func (s *simulation) print(out io.Writer, reports []simulate.Report, log *simulate.Log) error {
	var b bytes.Buffer
	s.printTraffic(&b, reports, log)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	column := func(show bool, format string, values ...any) {
		if show {
			fmt.Fprintf(w, "\t"+format, values...)
		}
	}
	waits, provider := s.wait > 0, s.provider != ""
	fmt.Fprint(w, "ADMITTED\tREFUSED\tWORST")
	column(waits, "P50\tP90\tMAX WAIT")
	column(provider, "429s\tUSED")
	fmt.Fprintln(w, "\t  LIMIT")
	for _, r := range reports {
		fmt.Fprintf(w, "%d\t%d\t%d", r.Admitted, r.Refused, r.Worst)
		column(waits, "%s\t%s\t%s", inspect.Span(r.P50), inspect.Span(r.P90), inspect.Span(r.Max))
		if provider {
			column(true, "%d\t%.0f%%", r.Served.Refused, 100*r.Served.Share)
		}
		fmt.Fprintf(w, "\t  %s\n", r.Name)
	}
	// A bytes.Buffer never fails.
	_ = w.Flush()
	fmt.Fprintf(&b, "\nWORST: most calls of one key in any %s.\n", window(reports))
	if provider {
		fmt.Fprintf(&b, "429s: refused by the provider. USED: share of its rate in use.\n")
	}
	if s.chart {
		for i := range reports {
			fmt.Fprintf(&b, "\n%s\n", chart(&reports[i]))
		}
	}
	_, err := out.Write(b.Bytes())
	return err
}

// window names the intervals of Report.Worst.
func window(reports []simulate.Report) string {
	for i := range reports {
		if reports[i].Window != reports[0].Window {
			return "interval as long as the limit's period"
		}
	}
	return inspect.Span(reports[0].Window).String()
}

// printTraffic describes the calls.
func (s *simulation) printTraffic(b *bytes.Buffer, reports []simulate.Report, log *simulate.Log) {
	if log == nil {
		fmt.Fprintf(b, "%s: %s for %s", plural(int(reports[0].Offered), "call"), s.pattern, inspect.Span(s.duration))
	} else {
		span := time.Duration(log.End-log.Start) * time.Microsecond
		fmt.Fprintf(b, "%s in %s: %s", plural(int(reports[0].Offered), "call"), inspect.Span(span), s.log)
	}
	if s.wait > 0 {
		fmt.Fprintf(b, "; they wait up to %s", inspect.Span(s.wait))
	}
	b.WriteByte('\n')
	if log != nil && log.Bad > 0 {
		fmt.Fprintf(b, "%d of %d lines are left out, as\n%s\n", log.Bad, log.Lines, log.FirstBad)
	}
	if log != nil && log.Moved == 1 {
		b.WriteString("1 line is out of order; it counts at the time of the line before\n")
	} else if log != nil && log.Moved > 0 {
		fmt.Fprintf(b, "%d lines are out of order; each counts at the time of the line before\n", log.Moved)
	}
	if s.provider != "" {
		fmt.Fprintf(b, "Provider: %s; calls are on their way for up to %s\n", s.provider, inspect.Span(s.travel))
	}
	b.WriteByte('\n')
}

// chart draws the calls that leave over time, 60 columns wide.
func chart(r *simulate.Report) string {
	t := r.Timeline.Merge((len(r.Timeline.Bins) + 59) / 60)
	values := make([]float64, len(t.Bins))
	for i, b := range t.Bins {
		values[i] = float64(b.Admitted)
	}
	return asciigraph.Plot(values, asciigraph.Height(5), asciigraph.LowerBound(0), asciigraph.Precision(0),
		asciigraph.Caption(fmt.Sprintf("%s: calls that leave per %s", r.Name, inspect.Span(t.Step))))
}

// printJSON writes the reports, and the results of reading the log.
func (s *simulation) printJSON(out io.Writer, reports []simulate.Report, log *simulate.Log) error {
	return printJSON(out, struct {
		Log     *simulate.Log     `json:"log,omitempty"`
		Reports []simulate.Report `json:"reports"`
	}{log, reports})
}
