package weir_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/localstore"
)

// documents are all pages of the repository, by path: their links and Go code are
// checked.
func documents(t *testing.T) map[string]string {
	t.Helper()
	pages := make(map[string]string)
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "testdata", "node_modules"}, entry.Name()):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".md" && path != "llms.txt":
			return nil
		}
		text, err := os.ReadFile(path)
		pages[filepath.ToSlash(path)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

func TestReadmeIsShort(t *testing.T) {
	t.Parallel()
	readme := documents(t)["README.md"]
	for _, c := range []struct {
		of        string
		have, max int
	}{
		{"lines", strings.Count(readme, "\n"), 150},
		{"words", len(strings.Fields(readme)), 900},
		{"rows of tables", strings.Count(readme, "\n|"), 15},
	} {
		if c.have > c.max {
			t.Errorf("%d %s, want at most %d", c.have, c.of, c.max)
		}
	}
}

// codeBlock is Go code in a page, or a file's content. The comment before the code
// names its file.
var codeBlock = regexp.MustCompile("(?ms)^(?:<!-- from: (\\S+) -->\n)?```(?:go|yaml)\n(.*?)^```$")

// tested are the files that code in pages may be from: programs that CI runs, examples
// and tests of use.
var tested = regexp.MustCompile(`^(examples/.*\.go|docs/(hello|provider|llm)/main\.go|(.*/)?\w*example\w*_test\.go|(.*/)?usage_test\.go)$`)

// TestCodeIsFromTestedFiles checks that all such code in the documents is part of a
// tested file, to the letter.
func TestCodeIsFromTestedFiles(t *testing.T) {
	t.Parallel()
	for name, text := range documents(t) {
		blocks := codeBlock.FindAllStringSubmatch(text, -1)
		if all := strings.Count(text, "```go\n") + strings.Count(text, "```yaml\n"); all != len(blocks) {
			t.Errorf("%s: %d blocks of code, of which %d were read", name, all, len(blocks))
		}
		for _, block := range blocks {
			from, code := block[1], block[2]
			first, _, _ := strings.Cut(code, "\n")
			if !tested.MatchString(from) {
				t.Errorf("%s: the code that begins %q is from %q, which is no tested file", name, first, from)
				continue
			}
			file, err := os.ReadFile(from)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if !bytes.Contains(file, []byte(code)) {
				t.Errorf("%s: the code that begins %q is not in %s", name, first, from)
			}
		}
	}
}

// TestReadmeProgramIsWhole checks that the README shows all of the program but the
// comment at its top, and that it is short. Empty lines don't count.
func TestReadmeProgramIsWhole(t *testing.T) {
	t.Parallel()
	const name, most = "docs/provider/main.go", 25
	file, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	program := file[bytes.Index(file, []byte("package main")):]
	if !strings.Contains(documents(t)["README.md"], "```go\n"+string(program)+"```\n") {
		t.Errorf("the README does not show all of %s", name)
	}
	if n := bytes.Count(program, []byte("\n")) - bytes.Count(program, []byte("\n\n")); n > most {
		t.Errorf("%s: %d lines, want at most %d", name, n, most)
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	code    = regexp.MustCompile("(?ms)^```.*?^```$|`[^`\n]*`")
)

// TestLinks checks that each link of the documents into this repository leads to a file
// and a heading.
func TestLinks(t *testing.T) {
	t.Parallel()
	for name, text := range documents(t) {
		for _, match := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			target, anchor, _ := strings.Cut(match[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := name
			if target != "" {
				path = filepath.Join(filepath.Dir(name), target)
			}
			page, err := os.ReadFile(path)
			if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
				err = nil
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			found := anchor == ""
			for _, h := range heading.FindAllStringSubmatch(string(page), -1) {
				found = found || slug(h[1]) == anchor
			}
			if !found {
				t.Errorf("%s links to %s, where no heading is #%s", name, path, anchor)
			}
		}
	}
}

// slug returns the fragment of links to a heading.
func slug(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z':
			b.WriteRune(r)
		}
	}
	return b.String()
}

// TestMostInAnyPeriod checks the documented maximum of units in any half-open interval
// of one period. Schedules made for the worst case come close, and none goes beyond.
func TestMostInAnyPeriod(t *testing.T) {
	t.Parallel()
	const rate, burst = 5, 3
	for a, c := range map[weir.Algorithm]struct {
		says        string
		most, comes int // the documented maximum; that of the worst schedule
	}{
		weir.GCRA:           {"| `GCRA` (default) | `Burst + Rate` |", burst + rate, burst + rate - 1},
		weir.SlidingWindow:  {"| `SlidingWindow` | `Rate` |", rate, rate},
		weir.SlidingCounter: {"| `SlidingCounter` | `2·Rate` |", 2 * rate, 2*rate - 1},
		weir.FixedWindow:    {"| `FixedWindow` | `2·Rate` |", 2 * rate, 2*rate - 1},
		weir.AlignedWindow:  {"| `AlignedWindow` | `2·Rate` |", 2 * rate, 2 * rate},
	} {
		limit := weir.PerSecond(rate).By(a)
		if a == weir.GCRA {
			limit = limit.WithBurst(burst)
		}
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			if page := "docs/algorithms.md"; !strings.Contains(documents(t)[page], c.says) {
				t.Errorf("%s does not say %q", page, c.says)
			}
			worst := 0
			for early := range rate + 1 {
				for idle := range 41 {
					synctest.Test(t, func(t *testing.T) { worst = max(worst, greedy(t, limit, early, idle)) })
				}
			}
			if worst > c.most || worst != c.comes {
				t.Errorf("at worst %d units in one period, want %d of %d", worst, c.comes, c.most)
			}
		})
	}
}

// greedy takes a few units at the start of an aligned window, waits for some fortieths
// of a period, and then takes all free units for two periods. It returns the maximum of
// units in any half-open interval of one period.
func greedy(t *testing.T, limit weir.Limit, early, idle int) int {
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := weir.New(weir.Config{Name: "api", Store: store, Limits: []weir.Limit{limit}})
	if err != nil {
		t.Fatal(err)
	}
	var taken []time.Time
	take := func() bool {
		d, err := l.Allow(context.Background(), "key")
		if err != nil {
			t.Fatal(err)
		}
		if d.Allowed {
			taken = append(taken, time.Now())
		}
		return d.Allowed
	}
	step := limit.Period / 40
	for range early {
		take()
	}
	time.Sleep(time.Duration(idle) * step)
	for range 2 * 40 {
		for take() {
		}
		time.Sleep(step)
	}
	most, first := 0, 0
	for i := range taken {
		for !taken[first].After(taken[i].Add(-limit.Period)) {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// TestDocumentsSayWhatIsExported checks that each name of packages weir and store in the
// documents is declared.
func TestDocumentsSayWhatIsExported(t *testing.T) {
	t.Parallel()
	for name, glob := range map[string]string{"weir": "*.go", "store": "store/*.go"} {
		source := ""
		files, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(file, "_test.go") {
				source += string(text)
			}
		}
		for page, text := range documents(t) {
			for _, match := range regexp.MustCompile(`\b`+name+`\.([A-Z]\w+)`).FindAllStringSubmatch(text, -1) {
				declared := regexp.MustCompile(fmt.Sprintf(`(?m)^(func|type|const|var|\t) ?%s\b`, match[1]))
				if !declared.MatchString(source) {
					t.Errorf("%s names %s.%s, which is not declared", page, name, match[1])
				}
			}
		}
	}
}
