// Command benchmarks compares weir with other rate limiters at the same work, and writes
// BENCHMARKS.md, its charts, and their data.
//
//	go run . -out ..
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/data"
	"github.com/goweir/weir/benchmarks/measure"
	"github.com/goweir/weir/benchmarks/report"
)

func main() {
	if measure.Child() {
		return
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "benchmarks:", err)
		os.Exit(1)
	}
}

// options has the command's flags.
type options struct {
	out, from   string
	parts, only string
	passes      int
	quick, keep bool
	most        time.Duration
}

func run(args []string) error {
	var o options
	flags := flag.NewFlagSet("benchmarks", flag.ContinueOnError)
	flags.StringVar(&o.out, "out", "", "the `directory` to write BENCHMARKS.md and docs/benchmarks/ to; empty: print the report")
	flags.StringVar(&o.parts, "parts", "", "the `parts` to measure, with commas between them; empty: all ("+strings.Join(partNames(), ", ")+")")
	flags.StringVar(&o.only, "only", "", "the `contenders` to measure, by their names, with commas between them; empty: all")
	flags.StringVar(&o.from, "from", "", "make the report from this data `file`, and measure nothing")
	flags.BoolVar(&o.keep, "keep", false, "keep all other parts of the data in -out")
	flags.IntVar(&o.passes, "passes", 5, "how often each measurement is made; the median counts")
	flags.BoolVar(&o.quick, "quick", false, "make everything small, in one pass: to see that it works, not what it measures")
	flags.DurationVar(&o.most, "most", 20*time.Minute, "after so `long` each further measurement is made once; 0: never mind the time")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.quick {
		o.passes = 1
	}
	if o.passes < 1 {
		return fmt.Errorf("-passes %d: at least 1", o.passes)
	}
	if o.keep && (o.out == "" || o.from != "") {
		return errors.New("-keep: it needs -out, and no -from")
	}
	results, err := o.results(args)
	if err != nil {
		return err
	}
	whole := results
	if o.keep {
		if whole, err = o.kept(results); err != nil {
			return err
		}
	}
	return errors.Join(o.write(whole), ownFailures(results))
}

// kept returns the earlier results, with the parts of this run replaced.
func (o options) kept(now *data.Results) (*data.Results, error) {
	whole, err := data.Read(o.dataFile())
	if err != nil {
		return nil, err
	}
	if whole.Quick != now.Quick {
		return nil, fmt.Errorf("-keep: %s is of a quick run, or this one is", o.dataFile())
	}
	parts := partNames()
	if o.parts != "" {
		parts = strings.Split(o.parts, ",")
	}
	whole.Replace(parts, now)
	return whole, nil
}

func (o options) dataFile() string { return filepath.Join(o.out, report.ChartDir, "data.json") }

// ownFailures returns an error if weir or a whole part failed. Rivals may fail.
func ownFailures(r *data.Results) error {
	var errs []error
	for _, f := range r.Failures {
		own := slices.ContainsFunc(r.Contenders, func(c data.Info) bool { return c.Own && c.Name == f.Contender })
		if own || f.Contender == "" {
			errs = append(errs, fmt.Errorf("%s, %s: %s: %s", f.Part, f.Case, f.Contender, f.Text))
		}
	}
	return errors.Join(errs...)
}

// results measures, or reads earlier results.
func (o options) results(args []string) (*data.Results, error) {
	if o.from != "" {
		return data.Read(o.from)
	}
	parts, err := o.chosenParts()
	if err != nil {
		return nil, err
	}
	contenders, err := o.chosenContenders()
	if err != nil {
		return nil, err
	}
	command := strings.TrimSpace("go run . " + strings.Join(args, " "))
	r := &data.Results{Machine: data.ThisMachine(), Command: command, Started: time.Now().UTC(), Passes: o.passes, Quick: o.quick}
	for _, c := range contenders {
		r.Contenders = append(r.Contenders, data.Info{
			Name: c.Name, Module: c.Module, Version: data.Version(c.Module), Note: c.Note, Own: c.Own, Physical: c.Physical,
		})
	}
	say := func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "%5.0fs  %s\n", time.Since(r.Started).Seconds(), fmt.Sprintf(format, args...))
	}
	measuring := &measure.Run{Results: r, Contenders: contenders, Quick: o.quick, Log: say}
	if o.most > 0 {
		measuring.Until = r.Started.Add(o.most)
	}
	for _, part := range parts {
		measuring.Do(part)
	}
	r.Took = time.Since(r.Started)
	return r, nil
}

func (o options) write(r *data.Results) error {
	text, charts := report.Markdown(r), report.Charts(r)
	if o.out == "" {
		fmt.Print(text)
		return nil
	}
	dir := filepath.Join(o.out, report.ChartDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, svg := range charts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(svg), 0o644); err != nil {
			return err
		}
	}
	if err := r.Write(o.dataFile()); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.out, "BENCHMARKS.md"), []byte(text), 0o644)
}

func partNames() []string {
	var names []string
	for _, p := range measure.Parts() {
		names = append(names, p.Name)
	}
	return names
}

func (o options) chosenParts() ([]measure.Part, error) {
	return choose("part", o.parts, measure.Parts(), func(p measure.Part) string { return p.Name })
}

func (o options) chosenContenders() ([]contender.Contender, error) {
	return choose("contender", o.only, contender.All(), func(c contender.Contender) string { return c.Name })
}

// choose returns the items with names in the list, or all if it is empty.
func choose[T any](what, list string, all []T, name func(T) string) ([]T, error) {
	if list == "" {
		return all, nil
	}
	wanted := strings.Split(list, ",")
	chosen := slices.DeleteFunc(slices.Clone(all), func(x T) bool { return !slices.Contains(wanted, name(x)) })
	for _, w := range wanted {
		if !slices.ContainsFunc(chosen, func(x T) bool { return name(x) == w }) {
			return nil, fmt.Errorf("there is no %s %q", what, w)
		}
	}
	return chosen, nil
}
