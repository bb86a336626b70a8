package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
)

// patterns are the turns that plain English does without: clauses in place of nouns,
// unnamed persons, passive telling, and relative pronouns after "of".
var patterns = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\bwhat (is|was|are|were|it|they|he|a|an|the|this|that|each|any|no|one|those|these|has|had|comes|goes|must|may|can|of)\b`),
	regexp.MustCompile(`(?i)\b(whoever|nobody|somebody|anybody|who (is|was|waits|has|asks))\b`),
	regexp.MustCompile(`(?i)\b(is|was|are|were|be|been) told\b`),
	regexp.MustCompile(`(?i)\bof (which|whom)\b`),
}

// text counts lines, and the patterns in them.
type text struct{ lines, found int }

func (t *text) add(line string) {
	t.lines++
	for _, p := range patterns {
		t.found += len(p.FindAllString(line, -1))
	}
}

// addComments adds the lines that are comments.
func (t *text) addComments(content []byte, mark string) {
	for line := range bytes.Lines(content) {
		if l := strings.TrimSpace(string(line)); strings.HasPrefix(l, mark) && !strings.HasPrefix(l, "//go:") {
			t.add(l)
		}
	}
}

// addProse adds the lines of Markdown outside code blocks.
func (t *text) addProse(content []byte) {
	code := false
	for line := range bytes.Lines(content) {
		l := strings.TrimSpace(string(line))
		switch {
		case strings.HasPrefix(l, "```"):
			code = !code
		case !code && l != "":
			t.add(l)
		}
	}
}

func (t *text) perThousand() int { return t.found * 1000 / max(t.lines, 1) }

// file is the path of a file that git tracks.
type file string

func trackedFiles() (files []file, err error) {
	out, err := command("git", "ls-files", "*.go", "*.lua", "*.md")
	for path := range strings.Lines(out) {
		files = append(files, file(strings.TrimSuffix(path, "\n")))
	}
	return files, err
}

func (f file) read() ([]byte, error) {
	content, err := os.ReadFile(string(f))
	if os.IsNotExist(err) {
		return nil, nil // deleted, and not committed yet
	}
	return content, err
}
