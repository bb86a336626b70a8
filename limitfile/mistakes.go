package limitfile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"
)

// mostErrors bounds the mistakes of one file that are reported.
const mostErrors = 20

// mistakes collects the mistakes in a file, each once however many aliases lead to it.
type mistakes struct {
	file  string
	found []*Error
	known map[Error]bool // without their fields
	count int            // with repetitions
}

func newMistakes(file string) mistakes { return mistakes{file: file, known: map[Error]bool{}} }

func (m *mistakes) add(line, column int, field, want, got string) {
	m.count++
	e := Error{m.file, max(1, line), max(1, column), "", want, got}
	if m.known[e] {
		return
	}
	m.known[e] = true
	e.Field = field
	m.found = append(m.found, &e)
}

// at adds a mistake in the place of a node.
func (m *mistakes) at(n *yaml.Node, field, want, got string) {
	m.add(n.Line, n.Column, field, want, got)
}

// err returns nil, or all mistakes joined, in the order of the file.
func (m *mistakes) err() error {
	slices.SortStableFunc(m.found, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Field, b.Field))
	})
	var errs []error
	for i, e := range m.found {
		if i == mostErrors {
			errs = append(errs, fmt.Errorf("limitfile: %s: and %d more", m.file, len(m.found)-i))
			break
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

// child returns the path of a name within a field.
func child(field, name string) string {
	if strings.IndexFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) >= 0 || name == "" {
		return field + "[" + quote(name) + "]"
	}
	if field == "" {
		return name
	}
	return field + "." + name
}

func element(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

func quote(s string) string { return strconv.Quote(shorten(s)) }

// shorten keeps messages readable, whatever the file holds.
func shorten(s string) string {
	const longest = 60
	runes := 0
	for i := range s {
		if runes == longest {
			return s[:i] + "…"
		}
		runes++
	}
	return s
}
