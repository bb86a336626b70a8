package report

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/goweir/weir/benchmarks/data"
	"github.com/goweir/weir/benchmarks/measure"
	"github.com/goweir/weir/internal/svg"
)

// sample are results of three contenders and a limit of the machine.
func sample() *data.Results {
	r := &data.Results{Passes: 1, Contenders: []data.Info{
		{Name: "weir", Own: true}, {Name: "redis_rate", Module: "example.com/redis_rate", Version: "v1.2.3"},
		{Name: "rueidislimiter", Note: "Stands in <for> another & more."}, {Name: "minimal GCRA", Physical: true},
	}}
	add := func(callers int, who string, perSecond float64) {
		r.Add(data.Key{Part: data.Redis, Case: data.Decisions(1, callers, true), Contender: who, Metric: data.PerSecond}, perSecond)
	}
	add(64, "weir", 480_000)
	add(64, "redis_rate", 80_000)
	add(64, "rueidislimiter", 500_000)
	add(64, "minimal GCRA", 900_000)
	add(256, "weir", 1_600_000)
	add(256, "redis_rate", 80_000)
	r.Failures = []data.Failure{{Part: data.Redis, Case: data.Decisions(1, 256, true), Contender: "rueidislimiter", Text: "it | broke"}}
	return r
}

func TestMarkdown(t *testing.T) {
	text := strings.ReplaceAll(Markdown(sample()), "\u00a0", " ")
	for name, want := range map[string]string{
		"a rival that wins is bold":                     "| rueidislimiter | **500 k** | fails |",
		"weir is bold where it wins, and only there":    "| weir | 480 k | **1 600 k** |",
		"a limit of the machine never wins":             "| minimal GCRA | 900 k | – |",
		"a goal that is just reached holds":             "decisions/s, weir ÷ redis_rate | ≥ 6.00 × | 6.00 × | yes |",
		"a goal that is missed does not":                "decisions/s, weir ÷ rueidislimiter | ≥ 2.80 × | 0.96 × | **no** |",
		"a goal that was not measured does not hold":    "8 goroutines, allowed: decisions/s, weir ÷ rueidislimiter | ≥ 1.00 × | – | not measured |",
		"a goal of 20 times":                            "≥ 20.0 × | 20.0 × | yes |",
		"notes are shown":                               "- Stands in <for> another & more.",
		"failures are shown, and don't break the table": `| rueidislimiter | redis | 1 key, 256 goroutines, allowed | it \| broke |`,
		"versions are shown":                            "example.com/redis_rate v1.2.3",
		"the chart of measured values is shown":         "docs/benchmarks/redis-one-key.svg",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s: no %q in\n%s", name, want, text)
		}
	}
	for _, never := range []string{"local.svg", "## Waiting", "NaN", "%!", "promise"} {
		if strings.Contains(text, never) {
			t.Errorf("there is %q in\n%s", never, text)
		}
	}
	if again := strings.ReplaceAll(Markdown(sample()), "\u00a0", " "); again != text {
		t.Error("the same results give another text")
	}
}

func TestMarkdownOfNothing(t *testing.T) {
	text := Markdown(new(data.Results))
	if !strings.Contains(text, "0 of ") || strings.Contains(text, "NaN") {
		t.Errorf("the report of nothing:\n%s", text)
	}
}

func TestAWholePartThatFails(t *testing.T) {
	r := sample()
	r.Failures = append(r.Failures, data.Failure{Part: data.Cluster, Text: "no redis-server"})
	if text := Markdown(r); !strings.Contains(text, "no redis-server") {
		t.Errorf("the report lacks the failure:\n%s", text)
	}
}

func TestGoals(t *testing.T) {
	numbers := make(map[int]bool)
	for _, g := range goals(sample()) {
		numbers[g.number] = true
		if value, holds, measured := g.holds(); !measured && (holds || value != 0) {
			t.Errorf("%s holds without a measurement", g.what)
		}
	}
	for n := 1; n <= 10; n++ {
		if !numbers[n] {
			t.Errorf("goal %d is missing", n)
		}
	}
	t.Run("not a number does not hold", func(t *testing.T) {
		g := goal{measure: constant(math.NaN())}
		if _, holds, measured := g.holds(); holds || measured {
			t.Error("it does")
		}
	})
	t.Run("over nothing is not measured", func(t *testing.T) {
		if _, ok := divide(constant(1), constant(0))(); ok {
			t.Error("it is")
		}
	})
	t.Run("the fastest rival is neither ours nor a limit of the machine", func(t *testing.T) {
		r := sample()
		for who, v := range map[string]float64{"weir": 6, "redis_rate": 3, "rueidislimiter": 4, "minimal GCRA": 1} {
			r.Add(data.Key{Part: data.Local, Case: "some", Contender: who, Metric: data.NsPerOp}, v)
		}
		if got, ok := (query{r}).overFastest(data.Local, "some", data.NsPerOp)(); !ok || got != 2 {
			t.Errorf("%v, %t; want 2", got, ok)
		}
	})
}

func TestFormats(t *testing.T) {
	for want, got := range map[string]string{
		"12\u00a0346": whole(12_345.6), "0": short(0), "0.043": short(0.0432), "0.50": short(0.5), "7.13": short(7.131),
		"45.7": short(45.68), "1\u00a0727": short(1726.9), "-686": short(-686), "9.5 k": thousands(9500), "1\u00a0869 k": thousands(1_869_000),
		"65.3 %": percent(65.3), "1 M": svg.Amount(1e6), "100 k": svg.Amount(1e5), "10": svg.Amount(10),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestLogScale(t *testing.T) {
	for name, test := range map[string]struct {
		values []float64
		v, at  float64
	}{
		"a power of ten below the least is nothing": {[]float64{20, 1000}, 10, 0},
		"the middle": {[]float64{10, 1000}, 100, 50},
		"of nothing": {nil, 0, 0},
	} {
		s := newScale(test.values, true, 100)
		if got := s.At(test.v); math.Abs(got-test.at) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, test.at)
		}
		if n := len(s.Ticks()); n == 0 || n > 12 {
			t.Errorf("%s: %d ticks", name, n)
		}
	}
}

func TestChartsAreWellFormed(t *testing.T) {
	r := sample()
	for i, who := range []string{"weir", "redis_rate", "a <strange> & \"long\" name"} {
		r.Contenders = append(r.Contenders, data.Info{Name: who})
		v := float64(i*i) * 1000 // one of 0 among them
		r.Add(data.Key{Part: data.HTTP, Case: measure.Middlewares, Contender: who, Metric: data.Overhead}, v)
		for _, keys := range []int{1, 1000, 1_000_000}[:i+1] {
			r.Add(data.Key{Part: data.Local, Case: data.Decisions(keys, 1, true), Contender: who, Metric: data.NsPerOp}, v+1)
		}
	}
	charts := Charts(r)
	for _, name := range []string{"redis-one-key.svg", "middleware.svg", "local.svg"} {
		if charts[name] == "" {
			t.Errorf("there is no %s", name)
		}
	}
	for name, text := range charts {
		if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%s has a value that is not a number:\n%s", name, text)
		}
		for d := xml.NewDecoder(strings.NewReader(text)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v in\n%s", name, err, text)
			}
		}
	}
}
