package otelweir_test

import (
	"maps"
	"os"
	"regexp"
	"testing"
)

// TestDocumentsListInstruments: the tables of the package's doc and of docs/watching.md
// have the instruments and their units.
func TestDocumentsListInstruments(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]*regexp.Regexp{
		"doc.go":              regexp.MustCompile(`(?m)^//\t(weir[\w.]+) +(\S+) +(?:counter|updowncounter|gauge|histogram) `),
		"../docs/watching.md": regexp.MustCompile("(?m)^\\| `weir_\\w+` \\| `(weir[\\w.]+)`, (\\S+) \\|"),
	} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		listed := make(map[string]string)
		for _, m := range row.FindAllStringSubmatch(string(text), -1) {
			listed[m[1]] = m[2]
		}
		if !maps.Equal(listed, units) {
			t.Errorf("%s lists %v, want %v", name, listed, units)
		}
	}
}
