package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/goweir/weir/internal/long"
)

// scratch is a repository with this one's scripts: a library, a command, a plugin of
// both, and an example.
type scratch struct {
	t   *testing.T
	dir string
}

var scratchFiles = map[string]string{
	"go.mod":              "module example.com/lib.git\n\ngo 1.26\n",
	"lib.go":              "package lib\n\nfunc A() {}\n",
	"cmd/tool/go.mod":     "module example.com/lib.git/cmd/tool\n\ngo 1.26\n\nrequire example.com/lib.git v0.0.0-00010101000000-000000000000\n\nreplace example.com/lib.git => ../..\n",
	"cmd/tool/main.go":    "package main\n\nimport lib \"example.com/lib.git\"\n\nfunc main() { lib.A() }\n",
	"plugin/go.mod":       "module example.com/lib.git/plugin\n\ngo 1.26\n\nrequire (\n\texample.com/lib.git v0.0.0-00010101000000-000000000000\n\texample.com/lib.git/cmd/tool v0.0.0-00010101000000-000000000000\n)\n\nreplace (\n\texample.com/lib.git => ../\n\texample.com/lib.git/cmd/tool => ../cmd/tool\n)\n",
	"plugin/plugin.go":    "package plugin\n\nimport lib \"example.com/lib.git\"\n\nfunc P() { lib.A() }\n",
	"examples/x/go.mod":   "module example.com/lib.git/examples/x\n\ngo 1.26\n",
	"examples/y/y.go":     "package y\n\nfunc Y() {}\n",
	"docs/z/main.go":      "package main\n\nfunc main() {}\n",
	"internal/i/i.go":     "package i\n\nfunc I() {}\n",
	".gitignore":          "/ignored/\n",
	"CHANGELOG.md":        "# Changelog\n\n## [Unreleased]\n\n## [0.1.0] - 2026-11-25\n\n### Added\n\n- A.\n\n## [0.0.1] - 2026-11-01\n\n- Nothing.\n",
	"benchmarks/go.mod":   "module example.com/lib.git/benchmarks\n\ngo 1.26\n",
	"examples/x/x.go":     "package x\n",
	"benchmarks/bench.go": "package benchmarks\n",
}

func newScratch(t *testing.T) *scratch {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the scripts need GNU programs")
	}
	s := &scratch{t, t.TempDir()}
	for path, text := range scratchFiles {
		s.write(path, text)
	}
	for _, name := range []string{"modules", "api", "release"} {
		s.write(".ci/"+name, read(t, ".ci/"+name))
	}
	s.git("init", "--quiet", "--initial-branch", "main")
	s.commit()
	return s
}

func (s *scratch) write(path, text string) {
	s.t.Helper()
	path = filepath.Join(s.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		s.t.Fatal(err)
	}
}

// install installs a command by its version like a user: in a folder of its own, without
// a network.
func (s *scratch) install(command string) (string, error) {
	return s.runWith([]string{
		"GOPROXY=direct", "GONOSUMDB=*", "GOVCS=*:git", "GOFLAGS=-modcacherw " + os.Getenv("GOFLAGS"), "GOMODCACHE=" + s.t.TempDir(), "GOBIN=" + s.t.TempDir(),
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url." + s.dir + ".insteadOf", "GIT_CONFIG_VALUE_0=https://example.com/lib",
	}, "go", "-C", s.t.TempDir(), "install", command)
}

func (s *scratch) run(name string, args ...string) (string, error) {
	return s.runWith(nil, name, args...)
}

// runWith runs a program in the repository, without the user's git configuration.
func (s *scratch) runWith(env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GOWORK=off",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (s *scratch) git(args ...string) string {
	s.t.Helper()
	out, err := s.run("git", args...)
	if err != nil {
		s.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return out
}

func (s *scratch) commit() {
	s.t.Helper()
	s.git("add", "--all")
	s.git("commit", "--quiet", "--message", "a change")
}

// unchanged fails the test if a script has left anything but tags.
func (s *scratch) unchanged(head string) {
	s.t.Helper()
	if got := s.git("rev-parse", "HEAD"); got != head {
		s.t.Errorf("HEAD is %s, was %s", got, head)
	}
	if got := s.git("status", "--porcelain"); got != "" {
		s.t.Errorf("the tree is not clean:\n%s", got)
	}
	if got := s.git("worktree", "list"); strings.Contains(got, "\n") {
		s.t.Errorf("worktrees are left:\n%s", got)
	}
}

func TestRelease(t *testing.T) {
	t.Parallel()
	s := newScratch(t)
	head := s.git("rev-parse", "HEAD")

	out, err := s.run(".ci/release", "v0.1.0")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"-replace example.com/lib.git => ../..", "+require example.com/lib.git v0.1.0", "+\texample.com/lib.git/cmd/tool v0.1.0",
		"Tags: v0.1.0 cmd/tool/v0.1.0 plugin/v0.1.0\n", "- A.", "Nothing was changed.",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the dry run does not print %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "- Nothing.") {
		t.Errorf("the notes are of another version too:\n%s", out)
	}
	if tags := s.git("tag"); tags != "" {
		t.Errorf("the dry run made tags: %s", tags)
	}
	s.unchanged(head)

	out, err = s.run(".ci/release", "-tag", "-no-run", "v0.1.0")
	if err != nil || !strings.HasSuffix(out, "git push --atomic origin v0.1.0 cmd/tool/v0.1.0 plugin/v0.1.0") {
		t.Fatalf("%v\n%s", err, out)
	}
	s.unchanged(head)
	if tags := strings.Fields(s.git("tag")); !slices.Equal(tags, []string{"cmd/tool/v0.1.0", "plugin/v0.1.0", "v0.1.0"}) {
		t.Errorf("tags %q", tags)
	}
	if got := s.git("rev-parse", "v0.1.0^{commit}"); got != head {
		t.Errorf("v0.1.0 is %s, want %s", got, head)
	}
	for _, folder := range []string{"cmd/tool", "plugin"} {
		if got := s.git("rev-parse", folder+"/v0.1.0^{commit}^"); got != head {
			t.Errorf("%s/v0.1.0 is a child of %s, want %s", folder, got, head)
		}
		mod := s.git("show", folder+"/v0.1.0:"+folder+"/go.mod")
		if strings.Contains(mod, "replace") || strings.Contains(mod, "v0.0.0") || !strings.Contains(mod, "example.com/lib.git v0.1.0") {
			t.Errorf("%s/go.mod is\n%s", folder, mod)
		}
	}
	if out, err := s.install("example.com/lib.git/cmd/tool@v0.1.0"); err != nil {
		t.Errorf("go install fails: %v\n%s", err, out)
	}
}

func TestReleaseRefuses(t *testing.T) {
	t.Parallel()
	edit := func(path, old, text string) func(*scratch) {
		return func(s *scratch) {
			before := scratchFiles[path]
			if !strings.Contains(before, old) {
				s.t.Fatalf("%s has no %q", path, old)
			}
			s.write(path, strings.ReplaceAll(before, old, text))
			s.commit()
		}
	}
	tag := func(name string) func(*scratch) {
		return func(s *scratch) { s.git("tag", name, "HEAD") }
	}
	for _, c := range []struct {
		name    string
		change  func(*scratch)
		version string
		want    string
	}{
		{"no version", nil, "", "want a version as v1.2.3"},
		{"half a version", nil, "v1.2", "got v1.2"},
		{"a leading zero", nil, "v0.01.0", "got v0.01.0"},
		{"an unknown flag", nil, "-force v0.1.0", "got -force"},
		{"changes", func(s *scratch) { s.write("lib.go", "package lib\n") }, "v0.1.0", "the tree is not clean"},
		{"no notes", nil, "v0.2.0", `want the heading "## [0.2.0] - YYYY-MM-DD"`},
		{"empty notes", edit("CHANGELOG.md", "### Added\n\n- A.\n", ""), "v0.1.0", "says nothing about 0.1.0"},
		{"an old version", tag("v0.2.0"), "v0.1.0", "want a version after v0.2.0"},
		{"an old version, by numbers", tag("v0.10.0"), "v0.9.0", "want a version after v0.10.0"},
		{"the same version", tag("v0.1.0"), "v0.1.0", "want a version after v0.1.0"},
		{"a candidate of a release", tag("v0.1.0"), "v0.1.0-rc.1", "want a version after v0.1.0"},
		{"a tag of another module", tag("plugin/v0.1.0"), "v0.1.0", "the tag plugin/v0.1.0 exists"},
		{"a wrong module path", edit("plugin/go.mod", "module example.com/lib.git/plugin", "module example.com/plugin"), "v0.1.0", "want module example.com/lib.git/plugin"},
		{"a fork", edit("plugin/go.mod", "replace (", "replace (\n\texample.com/other => ../other"), "v0.1.0", "replaces example.com/other"},
		{"a replaced module in the root", edit("go.mod", "go 1.26\n", "go 1.26\n\nreplace example.com/lib.git/plugin => ./plugin\n"), "v0.1.0", "the root module must replace nothing"},
		{"a major version without its path", edit("CHANGELOG.md", "[0.1.0]", "[2.0.0]"), "v2.0.0", "ends in /v2"},
		{"a module that git ignores", func(s *scratch) { s.write("ignored/go.mod", "module example.com/lib.git/ignored\n") }, "v0.1.0", "git ignores the modules in: ignored"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScratch(t)
			if c.change != nil {
				c.change(s)
			}
			tags := s.git("tag")
			out, err := s.run(".ci/release", append([]string{"-tag", "-no-run"}, strings.Split(c.version, " ")...)...)
			if err == nil || !strings.Contains(out, c.want) {
				t.Errorf("%v, want an error with %q:\n%s", err, c.want, out)
			}
			if now := s.git("tag"); now != tags {
				t.Errorf("tags %q, were %q", now, tags)
			}
		})
	}
}

// The first run installs apidiff over the network.
func TestAPI(t *testing.T) {
	long.Only(t)
	t.Parallel()
	s := newScratch(t)
	if out, err := s.run(".ci/api", "v0.1.0"); err != nil || out != "there is no release yet to compare with" {
		t.Fatalf("%v\n%s", err, out)
	}
	s.git("tag", "v0.1.0")
	s.write("examples/y/y.go", "package y\n\nfunc Z() {}\n") // makes no promise
	for _, step := range []struct {
		name   string
		path   string
		text   string
		passes map[string]bool
		want   string
	}{
		{"an addition", "lib.go", "package lib\n\nfunc A() {}\n\nfunc B() {}\n", map[string]bool{"v0.1.1": true}, "B: added"},
		{"another type", "plugin/plugin.go", "package plugin\n\nfunc P(int) {}\n", map[string]bool{
			"": true, "v0.1.1": false, "v0.2.0-rc.1": true, "v1.1.0": false,
		}, "P: changed"},
	} {
		s.write(step.path, step.text)
		s.commit()
		head := s.git("rev-parse", "HEAD")
		for version, passes := range step.passes {
			out, err := s.run(".ci/api", strings.Fields(version)...)
			if (err == nil) != passes || !strings.Contains(out, step.want) || strings.Contains(out, "Z: added") {
				t.Errorf("%s, %s: %v, passes %v is wanted, with %q:\n%s", step.name, version, err, passes, step.want, out)
			}
			s.unchanged(head)
		}
	}
	s.git("checkout", "--quiet", "v0.1.0")
	s.git("rm", "--quiet", "-r", "plugin")
	s.commit()
	if out, err := s.run(".ci/api", "v0.1.1"); err == nil || !strings.Contains(out, "plugin: gone since v0.1.0") {
		t.Errorf("%v\n%s", err, out)
	}
}
