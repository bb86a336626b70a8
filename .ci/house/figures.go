package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

// support are packages for tests. Their lines are no production lines.
var support = regexp.MustCompile(`^(store/storetest|weirtest|internal/(dialects|httpcases|leaktest|long|modelstore|redistest))$`)

// figures returns a row for each package of the root module outside examples, and
// these rows of one figure each:
//
//	(root-folder-go-files)   .go files in the root folder, tests included
//	(production-lines)       lines of all packages but those for tests
//	(longest-file)           lines of the longest .go file
//	(english-comments)       plain English, see patterns, per 1,000 comment lines
//	(english-docs)           … per 1,000 lines of Markdown
func figures() (rows []row, err error) {
	packages, err := listPackages()
	if err != nil {
		return nil, err
	}
	production := 0
	for _, p := range packages {
		r, err := p.measure()
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
		if !support.MatchString(r.name) {
			production += r.figures[1]
		}
	}
	files, err := trackedFiles()
	if err != nil {
		return nil, err
	}
	rootFiles, longest := 0, 0
	var comments, docs text
	for _, f := range files {
		content, err := f.read()
		if err != nil {
			return nil, err
		}
		switch {
		case strings.HasSuffix(string(f), ".go"):
			if !strings.Contains(string(f), "/") {
				rootFiles++
			}
			if !bytes.Contains(content, []byte("\n// Code generated ")) && !bytes.HasPrefix(content, []byte("// Code generated ")) {
				longest = max(longest, bytes.Count(content, []byte("\n")))
			}
			comments.addComments(content, "//")
		case strings.HasSuffix(string(f), ".lua"):
			comments.addComments(content, "--")
		case strings.HasSuffix(string(f), ".md") && f != "CHANGELOG.md":
			docs.addProse(content)
		}
	}
	for _, one := range []struct {
		name   string
		figure int
	}{
		{"(root-folder-go-files)", rootFiles}, {"(production-lines)", production}, {"(longest-file)", longest},
		{"(english-comments)", comments.perThousand()}, {"(english-docs)", docs.perThousand()},
	} {
		rows = append(rows, row{one.name, append([]int{one.figure}, make([]int, len(columns)-1)...)})
	}
	return rows, nil
}

// command returns the output of a program.
func command(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, &stderr)
	}
	return string(out), nil
}
