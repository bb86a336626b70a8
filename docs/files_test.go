// Package docs_test checks the files that GitHub and newcomers read.
package docs_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/goweir/weir/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// read returns the text of a file in the repository.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// decode reads a YAML file. An unknown field fails the test.
func decode[T any](t *testing.T, path string) (v T) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(read(t, path)))
	d.KnownFields(true)
	if err := d.Decode(&v); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	return v
}

// modules returns the folders of the repository's modules.
func modules(t *testing.T) (folders []string) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "go.mod" {
			rel, _ := filepath.Rel("..", filepath.Dir(path))
			folders = append(folders, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil || len(folders) < 3 {
		t.Fatalf("modules %q, %v", folders, err)
	}
	return folders
}

type workflow struct {
	Name        string
	On          any
	Permissions map[string]string
	Concurrency any
	Jobs        map[string]job
}

type job struct {
	RunsOn          string `yaml:"runs-on"`
	Container       string
	Needs, If       string
	Environment     string
	Permissions     map[string]string
	TimeoutMinutes  int  `yaml:"timeout-minutes"`
	ContinueOnError bool `yaml:"continue-on-error"`
	Env             map[string]string
	Defaults        any
	Strategy        struct {
		FailFast bool `yaml:"fail-fast"`
		Matrix   map[string][]string
	}
	Steps []struct {
		Name, Uses, Run, Shell, If string
		With, Env                  map[string]any
	}
}

var (
	inMatrix = regexp.MustCompile(`\$\{\{ matrix\.(\w+) \}\}`)
	forEach  = regexp.MustCompile(`for module in ([^;$]+);`)
)

func TestWorkflows(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../.github/workflows/*.yml")
	if err != nil || len(files) < 3 {
		t.Fatalf("workflows %q, %v", files, err)
	}
	known := modules(t)
	for _, file := range files {
		path, _ := filepath.Rel("..", file)
		w := decode[workflow](t, path)
		if w.Name == "" || w.On == nil || w.Permissions["contents"] != "read" || len(w.Jobs) == 0 {
			t.Errorf("%s: want a name, events, jobs and only the right to read", path)
		}
		for name, j := range w.Jobs {
			if j.RunsOn == "" || j.TimeoutMinutes < 1 || len(j.Steps) == 0 {
				t.Errorf("%s: job %s: want runs-on, timeout-minutes and steps", path, name)
			}
			if len(j.Permissions) > 0 && (j.Permissions["contents"] != "" || !strings.Contains(j.If, "refs/heads/main")) {
				t.Errorf("%s: job %s: want further permissions only on main, and none to contents", path, name)
			}
			for _, m := range inMatrix.FindAllStringSubmatch(j.RunsOn+" "+j.Container, -1) {
				if len(j.Strategy.Matrix[m[1]]) == 0 {
					t.Errorf("%s: job %s: the matrix has no %s", path, name, m[1])
				}
			}
			for i, s := range j.Steps {
				if (s.Uses == "") == (s.Run == "") || s.Uses != "" && !strings.Contains(s.Uses, "@v") {
					t.Errorf("%s: job %s, step %d: want uses with a version, or run", path, name, i)
				}
				for _, m := range forEach.FindAllStringSubmatch(s.Run, -1) {
					for _, module := range strings.Fields(m[1]) {
						if !slices.Contains(known, module) {
							t.Errorf("%s: job %s: %s is no module", path, name, module)
						}
					}
				}
			}
		}
	}
}

type form struct {
	Name, Description string
	Labels            []string
	Body              []struct {
		Type, ID    string
		Attributes  struct{ Label, Description, Placeholder, Render string }
		Validations struct{ Required bool }
	}
}

func TestIssueForms(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bug", "feature"} {
		path := ".github/ISSUE_TEMPLATE/" + name + ".yml"
		f := decode[form](t, path)
		if f.Name == "" || f.Description == "" || len(f.Body) == 0 {
			t.Errorf("%s: want name, description and body", path)
		}
		seen := map[string]bool{}
		for _, field := range f.Body {
			if field.Type != "textarea" && field.Type != "input" || field.Attributes.Label == "" || field.ID == "" || seen[field.ID] {
				t.Errorf("%s: field %q of type %q: want a known type, a label and an id of its own", path, field.ID, field.Type)
			}
			seen[field.ID] = true
		}
	}
	links := decode[struct {
		Blank bool                                `yaml:"blank_issues_enabled"`
		Links []struct{ Name, URL, About string } `yaml:"contact_links"`
	}](t, ".github/ISSUE_TEMPLATE/config.yml")
	for _, l := range links.Links {
		if l.Name == "" || l.About == "" || !strings.HasPrefix(l.URL, "https://github.com/goweir/weir/") {
			t.Errorf("contact link %+v: want name, text and a page of the project", l)
		}
	}
}

// TestSite checks that the site's packages have one version, and that their list names
// no registry.
func TestSite(t *testing.T) {
	t.Parallel()
	var p struct {
		Packages map[string]struct{ Version, Resolved, Integrity string }
	}
	if err := json.Unmarshal([]byte(read(t, "site/package-lock.json")), &p); err != nil || len(p.Packages) < 10 {
		t.Fatalf("%d packages, %v", len(p.Packages), err)
	}
	for name, locked := range p.Packages {
		if name != "" && (locked.Version == "" || locked.Resolved != "" || locked.Integrity == "") {
			t.Errorf("%s: want a version, a hash and no address, got %+v", name, locked)
		}
	}
}

// Dependabot updates every module and the site.
func TestDependabot(t *testing.T) {
	t.Parallel()
	type update struct {
		Ecosystem   string `yaml:"package-ecosystem"`
		Directory   string
		Directories []string
		Schedule    map[string]string
		Groups      map[string]any
		Ignore      []struct {
			Dependency string `yaml:"dependency-name"`
			Versions   []string
		}
	}
	d := decode[struct {
		Version int
		Updates []update
	}](t, ".github/dependabot.yml")
	if !slices.ContainsFunc(d.Updates, func(u update) bool { return u.Ecosystem == "npm" && u.Directory == "/site" }) {
		t.Error("no updates of npm packages in /site")
	}
	i := slices.IndexFunc(d.Updates, func(u update) bool { return u.Ecosystem == "gomod" })
	if d.Version != 2 || i < 0 {
		t.Fatalf("version %d, no updates of Go modules", d.Version)
	}
	for _, module := range modules(t) {
		folder := "/" + strings.TrimPrefix(module, ".")
		if !slices.ContainsFunc(d.Updates[i].Directories, func(pattern string) bool {
			ok, _ := filepath.Match(pattern, folder)
			return ok
		}) {
			t.Errorf("no pattern of %q matches %s", d.Updates[i].Directories, folder)
		}
	}
	for _, ignored := range d.Updates[i].Ignore {
		if !strings.Contains(read(t, "go.mod"), ignored.Dependency+" v") || len(ignored.Versions) == 0 {
			t.Errorf("go.mod does not require %s, or all its versions are ignored", ignored.Dependency)
		}
	}
}

// TestSupport checks that docs/support.md names the versions that CI tests.
func TestSupport(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/support.md")
	major := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))
	if major == nil || !strings.Contains(page, "| needed now | Go "+major[1]+" |") {
		t.Errorf("the page does not need Go %v", major)
	}
	row := func(start string) string {
		_, rest, _ := strings.Cut(page, "\n| "+start)
		line, _, _ := strings.Cut(rest, "\n")
		return line
	}
	releases := regexp.MustCompile(`(?m)^(redis|valkey)-([\d.]+) `).FindAllStringSubmatch(read(t, ".ci/servers"), -1)
	if len(releases) < 3 {
		t.Fatalf("releases %q", releases)
	}
	for _, r := range releases {
		kind := strings.ToUpper(r[1][:1]) + r[1][1:]
		if !strings.Contains(row(kind+", single server"), " "+strings.TrimSuffix(r[2], ".0")) {
			t.Errorf("the row of %s lacks %s", kind, r[2])
		}
	}
	w := decode[workflow](t, ".github/workflows/systems.yml")
	images := row("the newest images of")
	for _, image := range w.Jobs["servers"].Strategy.Matrix["image"] {
		_, version, _ := strings.Cut(image, ":")
		if !strings.Contains(images, " "+version) {
			t.Errorf("the row of images lacks %s", image)
		}
	}
	for _, os := range w.Jobs["race"].Strategy.Matrix["os"] {
		if os != "ubuntu-latest" && !strings.Contains(page, "`"+os+"`") {
			t.Errorf("the page lacks %s", os)
		}
	}
}

// TestIndex checks that llms.txt lists every page.
func TestIndex(t *testing.T) {
	t.Parallel()
	index := read(t, "llms.txt")
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("howto/*.md")
	if err != nil || len(more) < 5 {
		t.Fatal(more, err)
	}
	for _, page := range append(pages, more...) {
		if !strings.Contains(index, "](docs/"+filepath.ToSlash(page)+")") {
			t.Errorf("llms.txt lacks docs/%s", page)
		}
	}
}

// TestOperating checks that the operating guide names metrics, alerts, panels and
// commands that exist.
func TestOperating(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/operating.md")
	for _, c := range []struct {
		name, pattern, in, as string
		min                   int
	}{
		{"metric", `\b(weir_[a-z_]+)`, "docs/watching.md", "`%s`", 8},
		{"alert", `\b(Weir[A-Z]\w+)`, "promweir/alerts.yml", "alert: %s\n", 3},
		{"panel", `[Pp]anel ([A-Z][a-z ]+)`, "promweir/grafana.json", `"title": "%s"`, 3},
		{"command", `\bweir ([a-z]+) (?:[A-Za-z]+:|KEY|-)`, "docs/command.md", "\n## %s", 3},
	} {
		target := read(t, c.in)
		found := regexp.MustCompile(c.pattern).FindAllStringSubmatch(page, -1)
		if len(found) < c.min {
			t.Errorf("%d times a %s, want %d or more", len(found), c.name, c.min)
		}
		for _, m := range found {
			name := strings.TrimSuffix(strings.TrimSpace(m[1]), "_count")
			if c.name == "command" && strings.Contains("pause resume reset", name) {
				name = "pause, resume, reset"
			}
			if !strings.Contains(target, strings.ReplaceAll(c.as, "%s", name)) {
				t.Errorf("%s has no %s %q", c.in, c.name, name)
			}
		}
	}
}

// TestContributing checks that the folders and commands in CONTRIBUTING.md exist.
func TestContributing(t *testing.T) {
	t.Parallel()
	_, rooms, _ := strings.Cut(read(t, "CONTRIBUTING.md"), "## Rooms")
	rooms, _, _ = strings.Cut(rooms, "## Style")
	found := 0
	for line := range strings.Lines(rooms) {
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
			found++
			_, err := os.Stat(filepath.Join("..", m[1]))
			if err != nil {
				_, err = os.Stat(filepath.Join("../store", m[1])) // "store/redisstore, plainstore"
			}
			if err != nil {
				t.Error(err)
			}
		}
	}
	if found < 15 {
		t.Errorf("the table of rooms has %d folders", found)
	}
}
