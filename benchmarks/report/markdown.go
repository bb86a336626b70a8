// Package report makes BENCHMARKS.md and its charts from measured values.
package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goweir/weir/benchmarks/data"
)

// Markdown writes BENCHMARKS.md, from the results alone.
func Markdown(r *data.Results) string {
	w := &writer{r: r, charts: Charts(r)}
	w.line("<!-- Made from %s/data.json by the command below. DO NOT EDIT. -->", ChartDir)
	w.line("# Benchmarks")
	w.line("The same work, done by weir and by other libraries, in one run on one machine. The best of each column is bold. " +
		"[benchmarks/](benchmarks) is the code, [docs/benchmarks.md](docs/benchmarks.md) explains the figures.")
	if r.Quick {
		w.line("**A quick run, to see that everything works: its figures mean nothing.**")
	}
	w.machine()
	w.line("## Goals\n\n%s", Goals(r))
	w.local()
	w.http()
	w.redis()
	w.server()
	w.outage()
	w.exact()
	w.waiting()
	w.network()
	w.notes()
	return w.String()
}

// writer writes sections. It leaves out sections without a measurement.
type writer struct {
	strings.Builder
	r      *data.Results
	charts map[string]string
}

// line writes a paragraph.
func (w *writer) line(format string, args ...any) {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	if w.Len() > 0 {
		w.WriteString("\n")
	}
	w.WriteString(strings.TrimRight(format, "\n") + "\n")
}

// chart shows a chart if there is one.
func (w *writer) chart(name, what string) {
	if _, ok := w.charts[name]; ok {
		w.line("![%s](%s/%s)", what, ChartDir, name)
	}
}

func (w *writer) machine() {
	r, m := w.r, w.r.Machine
	var b strings.Builder
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "| %s | %s |\n", name, value)
		}
	}
	b.WriteString("| | |\n|---|---|\n")
	row("Machine", fmt.Sprintf("%s, %d cores, %.1f GB; Redis and all callers share them", m.CPU, m.Cores, float64(m.MemoryMB)/1024))
	row("Kernel", m.Kernel)
	row("Go", m.Go)
	row("redis-server", m.Redis)
	row("weir", m.Commit)
	row("Date", r.Started.Format("2006-01-02 15:04 MST"))
	row("Command", fmt.Sprintf("`%s` in benchmarks/, which took %v", r.Command, r.Took.Round(time.Second)))
	passes := fmt.Sprintf("%d, all contenders in turn in each; the figures are medians", r.Passes)
	if r.Cut {
		passes += "; towards the end fewer, as time was over"
	}
	row("Passes", passes)
	var versions []string
	for _, c := range r.Contenders {
		if v := strings.TrimPrefix(c.Module, "github.com/") + " " + c.Version; c.Version != "" && !slices.Contains(versions, v) {
			versions = append(versions, v)
		}
	}
	row("Versions", strings.Join(versions, ", "))
	for _, l := range r.Later {
		row("Measured later: "+strings.Join(l.Parts, ", "), l.String())
	}
	w.line("%s", b.String())
}

// notes writes the contenders' notes, and the failures.
func (w *writer) notes() {
	w.line("## Notes")
	var b strings.Builder
	for _, c := range w.r.Contenders {
		if c.Note != "" {
			fmt.Fprintf(&b, "- %s\n", c.Note)
		}
	}
	b.WriteString("- A *limit of the machine* is no limiter: PING is a round trip, `return 1` the cheapest script, and the minimal GCRA script says nothing but yes or no.\n")
	w.line("%s", b.String())
	if len(w.r.Failures) == 0 {
		return
	}
	b.Reset()
	for _, f := range w.r.Failures {
		text := strings.Join(strings.Fields(f.Text), " ")
		if len(text) > 200 {
			text = strings.ToValidUTF8(text[:200], "") + "…"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", f.Contender, f.Part, f.Case, strings.ReplaceAll(text, "|", "\\|"))
	}
	w.line("What did not go as it should:\n\n| Who | Part | Case | What |\n|---|---|---|---|\n%s", b.String())
}
