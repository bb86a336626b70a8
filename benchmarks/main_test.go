package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/benchmarks/data"
	"github.com/goweir/weir/benchmarks/measure"
	"github.com/goweir/weir/internal/redistest"
)

func TestRun(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
		want string // in the error; empty: none
	}{
		{"an unknown part is named", []string{"-parts", "local,nonsense"}, `no part "nonsense"`},
		{"an unknown contender is named", []string{"-only", "weir,nobody"}, `no contender "nobody"`},
		{"no passes", []string{"-passes", "0"}, "-passes 0"},
		{"data that are not there", []string{"-from", "no-such-file"}, "no-such-file"},
		{"parts of nowhere to keep", []string{"-keep"}, "-out"},
		{"parts to keep, and nothing measured", []string{"-keep", "-out", "x", "-from", "y"}, "-from"},
		{"an unknown flag", []string{"-nonsense"}, "nonsense"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := run(test.args); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// TestReport measures a little, writes the report, and writes it again from the data
// alone.
func TestReport(t *testing.T) {
	dir := t.TempDir()
	if err := run([]string{"-quick", "-parts", "http", "-only", "weir,httprate,x/time/rate in a map", "-out", dir}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "docs", "benchmarks", "data.json")
	first := read(t, filepath.Join(dir, "BENCHMARKS.md"))
	for _, want := range []string{"| httprate |", "| weir |", "middleware.svg", "A quick run"} {
		if !strings.Contains(first, want) {
			t.Errorf("BENCHMARKS.md lacks %q:\n%s", want, first)
		}
	}
	if strings.Contains(first, "## A decision by Redis") {
		t.Error("BENCHMARKS.md has a section without a measurement")
	}
	chart := read(t, filepath.Join(dir, "docs", "benchmarks", "middleware.svg"))
	again := t.TempDir()
	if err := run([]string{"-from", file, "-out", again}); err != nil {
		t.Fatal(err)
	}
	if read(t, filepath.Join(again, "BENCHMARKS.md")) != first {
		t.Error("made again from the data, BENCHMARKS.md differs")
	}
	if read(t, filepath.Join(again, "docs", "benchmarks", "middleware.svg")) != chart {
		t.Error("made again from the data, a chart differs")
	}
}

// TestKeep measures a part, and then another one, and keeps the first.
func TestKeep(t *testing.T) {
	dir := t.TempDir()
	quick := []string{"-quick", "-only", "weir", "-out", dir}
	if err := run(append(quick, "-parts", "http")); err != nil {
		t.Fatal(err)
	}
	if err := run(append(quick, "-parts", "local", "-keep")); err != nil {
		t.Fatal(err)
	}
	text := read(t, filepath.Join(dir, "BENCHMARKS.md"))
	for _, want := range []string{"## HTTP", "## A decision within the process", "Measured later: local"} {
		if !strings.Contains(text, want) {
			t.Errorf("BENCHMARKS.md lacks %q:\n%s", want, text)
		}
	}
}

// TestNetworkHasAProcess runs the network in another process of this program.
func TestNetworkHasAProcess(t *testing.T) {
	redistest.Start(t) // skips the test without a redis-server
	contenders, err := options{only: "weir,redis_rate,minimal GCRA"}.chosenContenders()
	if err != nil {
		t.Fatal(err)
	}
	r := &data.Results{Passes: 1, Started: time.Now()}
	measuring := &measure.Run{Results: r, Contenders: contenders, Quick: true, Log: t.Logf}
	measuring.Do(measure.Part{Name: data.Network, Measure: measure.Network})
	for _, f := range r.Failures {
		t.Errorf("%+v", f)
	}
	for _, link := range measure.Links(true) {
		for _, who := range []string{"weir", "redis_rate", "minimal GCRA"} {
			name := link.Calls(1, 4)
			got, ok := r.Median(data.Key{Part: data.Network, Case: name, Contender: who, Metric: data.P50})
			if least := link.RTT.Seconds() * (1 - link.Jitter) * 1e6; !ok || got < least {
				t.Errorf("%s: %s: %v µs, want at least %v", name, who, got, least)
			}
		}
	}
}

func TestOwnFailures(t *testing.T) {
	for _, test := range []struct {
		name, who string
		fails     bool
	}{
		{"weir's is one", "weir", true},
		{"a rival's is none", "redis_rate", false},
		{"a whole part's is one", "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &data.Results{
				Contenders: []data.Info{{Name: "weir", Own: true}, {Name: "redis_rate"}},
				Failures:   []data.Failure{{Part: data.Redis, Contender: test.who, Text: "oh"}},
			}
			if err := ownFailures(r); (err != nil) != test.fails {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestExactHasChildren runs other processes of this program.
func TestExactHasChildren(t *testing.T) {
	redistest.Start(t) // skips the test without a redis-server
	contenders, err := options{only: "weir"}.chosenContenders()
	if err != nil {
		t.Fatal(err)
	}
	r := &data.Results{Passes: 1, Started: time.Now()}
	measuring := &measure.Run{Results: r, Contenders: contenders, Quick: true, Log: t.Logf}
	measuring.Do(measure.Part{Name: data.Exact, Measure: measure.Exact})
	got, ok := r.Median(data.Key{Part: data.Exact, Case: measure.ExactCase, Contender: "weir", Metric: data.Admitted})
	want, _ := r.Median(data.Key{Part: data.Exact, Case: measure.ExactCase, Contender: "weir", Metric: data.Most})
	if !ok || got != want {
		t.Errorf("admitted %v of %v, failures %v", got, want, r.Failures)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
