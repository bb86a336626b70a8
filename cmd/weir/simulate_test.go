package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/goweir/weir/cmd/weir/internal/simulate"
)

// simulated runs the command.
func simulated(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	c, out := newSimulate(), new(bytes.Buffer)
	c.SetArgs(args)
	c.SetIn(strings.NewReader(stdin))
	c.SetOut(out)
	err := c.Execute()
	return out.String(), err
}

// TestImages checks that go generate would not change the pictures in docs.
func TestImages(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("simulate.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^//go:generate go run \. simulate (.*) --svg (\S+)$`).FindAllSubmatch(source, -1)
	if len(lines) < 3 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, line := range lines {
		committed := string(line[2])
		t.Run(filepath.Base(committed), func(t *testing.T) {
			var args []string
			for _, arg := range regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(string(line[1]), -1) {
				args = append(args, strings.Trim(arg, `"`))
			}
			file := filepath.Join(t.TempDir(), "chart.svg")
			if _, err := simulated(t, "", append(args, "--svg", file)...); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(committed)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s differs from the command's picture (%v): run go generate in cmd/weir", committed, err)
			}
		})
	}
}

func TestSimulate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, stdin string
		args, want  []string
	}{
		{"all algorithms", "", []string{"--limit", "5/s"}, []string{"gcra", "sliding_window", "sliding_counter", "fixed_window", "aligned_window", "most calls of one key in any 1s"}},
		{"one algorithm", "", []string{"--limit", "25/5s,sliding_window", "--pattern", "bursts:60/5s", "--duration", "10s"}, []string{"120 calls", "      50       70     25  25/5s,sliding_window"}},
		{"limits that hold together", "", []string{"--limit", "both: 25/5s+30/m", "--pattern", "constant:10/s", "--duration", "50s"}, []string{"30      470", "both, sliding_window"}},
		{"two limits", "", []string{"--limit", "5/s", "--limit", "10/s,burst=1"}, []string{"5/s gcra", "  10/s,burst=1", "most calls of one key in any 1s"}},
		{"limits of unlike periods", "", []string{"--limit", "25/5s,gcra", "--limit", "10/s,gcra"}, []string{"in any interval as long as the limit's period.\n"}},
		{"a provider", "", []string{"--limit", "25/5s,outbound", "--provider", "25/5s,aligned_window", "--pattern", "bursts:50/10s", "--wait", "1m"}, []string{"without weir", "429s", "0   96%  25/5s,outbound"}},
		{"a ramp and a chart", "", []string{"--limit", "5/s,gcra", "--pattern", "ramp:1/s-20/s", "--chart"}, []string{"calls that leave per 1s", "┤"}},
		{"a log", `{"ts":10.5,"user":"a"}` + "\n" + `{"ts":10.6,"user":"a"}` + "\n" + `{"ts":10.7,"user":"b"}` + "\nbad\n" + `{"ts":9,"user":"b"}`,
			[]string{"--limit", "1/s,gcra", "--log", "-", "--key", "user"}, []string{"4 calls in 200ms", "1 of 5 lines are left out, as\nline 4: neither", "1 line is out of order; it counts", "2        2      1  1/s,gcra"}},
		{"a log of one line", `{"ts":10.5}`, []string{"--limit", "1/s,gcra", "--log", "-"}, []string{"1 call in 0s: -\n"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, err := simulated(t, test.stdin, test.args...)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range test.want {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
			for line := range strings.Lines(out) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
					t.Errorf("%d columns: %s", n, line)
				}
			}
		})
	}
}

func TestSimulateJSON(t *testing.T) {
	t.Parallel()
	out, err := simulated(t, "", "--limit", "5/s,gcra", "--pattern", "bursts:9/1s", "--duration", "1s", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Reports []struct {
			Name              string
			Admitted, Refused int
			Worst             int `json:"worst_window"`
			Timeline          struct{ Bins []struct{ Offered int } }
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if r := got.Reports[0]; r.Name != "5/s,gcra" || r.Admitted != 5 || r.Refused != 4 || r.Worst != 5 || r.Timeline.Bins[0].Offered != 9 {
		t.Errorf("%s", out)
	}
}

// TestSimulateProgress: a long simulation says how far it is, and clears the line at its end.
func TestSimulateProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := func(yield func(simulate.Arrival) bool) {
			for i := range int64(4) {
				time.Sleep(time.Second)
				yield(simulate.Arrival{At: i + 1})
			}
		}
		var out bytes.Buffer
		p := &progress{out: &out, on: true, begun: time.Now()}
		reports, err := simulateUntil(t.Context(), simulate.Config{Candidates: make([]simulate.Candidate, 1), Step: time.Second, Window: time.Second}, calls, p)
		if err != nil || reports[0].Offered != 4 || !strings.Contains(out.String(), "\r\x1b[K3 calls") || !strings.HasSuffix(out.String(), "\r\x1b[K") {
			t.Errorf("%v, %q", err, out.String())
		}
	})
}

func TestSimulateErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"no limit", nil, `--limit "": want a limit as 25/5s`},
		{"no period", []string{"--limit", "25"}, `--limit "25": want a limit as 25/5s`},
		{"an unknown algorithm", []string{"--limit", "5/s,leaky"}, `--limit "5/s,leaky": want a limit`},
		{"a burst of a window", []string{"--limit", "5/s,fixed_window,burst=3"}, "Burst"},
		{"a burst of 0", []string{"--limit", "5/s,burst=0"}, "--limit"},
		{"a burst of outbound", []string{"--limit", "5/s,burst=2,outbound"}, "see weir simulate --help (no burst with outbound)"},
		{"text that looks like YAML", []string{"--limit", `5/s"],"q":["1/s`}, "--limit"},
		{"an unknown shape", []string{"--limit", "5/s", "--pattern", "sine:5/s"}, `--pattern "sine:5/s": want constant, poisson, bursts or ramp`},
		{"half a ramp", []string{"--limit", "5/s", "--pattern", "ramp:5/s"}, "--pattern"},
		{"a ramp of two periods", []string{"--limit", "5/s", "--pattern", "ramp:5/s-5/m"}, "two rates of one period"},
		{"too many calls", []string{"--limit", "5/s", "--pattern", "constant:1000000/s", "--duration", "1h"}, "at most 100 million calls"},
		{"no time", []string{"--limit", "5/s", "--duration", "0s"}, "--duration"},
		{"a negative wait", []string{"--limit", "5/s", "--wait", "-1s"}, "--wait"},
		{"a negative time in flight", []string{"--limit", "5/s", "--travel", "-1s"}, "--travel"},
		{"an outbound provider", []string{"--limit", "5/s", "--provider", "5/s,outbound"}, "one of the five algorithms"},
		{"no provider's limit", []string{"--limit", "5/s", "--provider", "x"}, "--provider"},
		{"a missing log", []string{"--limit", "5/s", "--log", "missing"}, "--log: open missing"},
		{"a key without a log", []string{"--limit", "5/s", "--key", "user"}, `--key "user": want --log too`},
		{"a log and a pattern", []string{"--limit", "5/s", "--log", "-", "--pattern", "poisson:8/s"}, "[log pattern] were all set"},
		{"a log and a length", []string{"--limit", "5/s", "--log", "-", "--duration", "1m"}, "[duration log] were all set"},
		{"an empty log", []string{"--limit", "5/s", "--log", os.DevNull}, "--log " + os.DevNull + ": it has no lines"},
		{"a log without a readable line", []string{"--limit", "5/s", "--log", "-"}, "--log -: no line is readable: line 1: neither"},
		{"no folder for the chart", []string{"--limit", "5/s", "--svg", "missing/x.svg"}, "--svg: open missing/x.svg"},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, err := simulated(t, "garbage\n", test.args...)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") || out != "" {
				t.Errorf("%q, error %v; want %s", out, err, test.want)
			}
		})
	}
}
