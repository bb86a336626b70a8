package promweir_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocumentsListInstruments: the tables of the package's doc and of docs/watching.md
// have the instruments and their labels, and the latter has all alerts.
func TestDocumentsListInstruments(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]*regexp.Regexp{
		"doc.go":              regexp.MustCompile(`(?m)^//\t(weir_\w+) +(?:counter|gauge|histogram) +(.*)$`),
		"../docs/watching.md": regexp.MustCompile("(?m)^\\| `(weir_\\w+)` \\| `weir\\.[^|]*\\| ([^|]*) \\|"),
	} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		listed := make(map[string][]string)
		for _, m := range row.FindAllStringSubmatch(string(text), -1) {
			listed[m[1]] = strings.Split(m[2], ", ")
		}
		if want := described(t); !maps.EqualFunc(listed, want, slices.Equal) {
			t.Errorf("%s lists %v, want %v", name, listed, want)
		}
		for _, q := range alertQueries(t) {
			if strings.HasSuffix(name, ".md") && !strings.Contains(string(text), "| "+q.of+" |") {
				t.Errorf("%s does not list the alert %s", name, q.of)
			}
		}
	}
}
