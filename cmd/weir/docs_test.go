package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/inspect"
	"github.com/goweir/weir/store"
)

var (
	// shown is an output of a command about one key in a page of docs.
	shown = regexp.MustCompile("(?ms)^\\$ weir (?:explain|pause|resume) [^\n]*\n(.*?)(?:^\\$|^```)")
	// spans are durations and numbers.
	spans = regexp.MustCompile(`\b\d[\d.]*(?:µs|[mn]s|[smhd])?(?:[\d.]+[smh])*`)
	// periods are those of limits, which are exact.
	periods = regexp.MustCompile(`/\S+`)
	// names are those of keys, algorithms and times of day.
	names = regexp.MustCompile(`(?m)^\S+:\S+|stored as .*$|gcra|sliding_window|fixed_window| burst #|#:#:# UTC|#-#-# `)
)

// sentences returns the sentences of a text, without what varies.
func sentences(text string) []string {
	text = names.ReplaceAllString(spans.ReplaceAllString(text, "#"), "…")
	return regexp.MustCompile(`\n|\. `).Split(strings.ReplaceAll(text, ".\n", "\n"), -1)
}

// TestDocsShowOutputs: the outputs in docs have sentences and durations as this release
// writes them.
func TestDocsShowOutputs(t *testing.T) {
	t.Parallel()
	last := keysOfTest()[0]
	last.Limits = []inspect.Limit{{Limit: store.Limit(weir.Per(1, time.Second)), Used: 1, ResetAfter: 1}}
	last.Ahead = inspect.Ahead{Calls: 2, First: 1e9, Last: 2e9}
	last.Next = inspect.Next{Reason: "limited"}
	last.Brake.Pause = 2
	var p page
	for _, k := range append(keysOfTest(), last) {
		p.explain(&k)
	}
	p.line("%s", sayPaused(&last, &last))
	p.line("a:b runs again.")
	known := map[string]bool{}
	for _, s := range sentences(p.String()) {
		known[s] = true
	}
	for _, file := range []string{"../../docs/command.md", "../../docs/operating.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// An output ends where the next one begins.
		outputs := shown.FindAllStringSubmatch(strings.ReplaceAll(string(text), "\n$ ", "\n$\n$ "), -1)
		if len(outputs) < 2 {
			t.Errorf("%s shows %d outputs", file, len(outputs))
		}
		for _, output := range outputs {
			for _, s := range sentences(output[1]) {
				if !known[s] {
					t.Errorf("%s: no output has the sentence %q", file, s)
				}
			}
			for _, span := range spans.FindAllString(periods.ReplaceAllString(output[1], ""), -1) {
				if d, err := time.ParseDuration(span); err == nil && d > 0 && inspect.Span(d).String() != span {
					t.Errorf("%s: %s, want %s", file, span, inspect.Span(d))
				}
			}
		}
	}
}
