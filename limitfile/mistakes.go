package limitfile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"
)

// mostErrors bounds the mistakes of one file that are reported.
const mostErrors = 20

// mistakes collects the mistakes in a file.
type mistakes struct {
	file     string
	reported []error
	more     int // mistakes beyond mostErrors
}

func (m *mistakes) add(line, column int, field, want, got string) {
	if len(m.reported) == mostErrors {
		m.more++
		return
	}
	m.reported = append(m.reported, &Error{m.file, max(1, line), max(1, column), field, want, got})
}

// at adds a mistake in the place of a node.
func (m *mistakes) at(n *yaml.Node, field, want, got string) {
	m.add(n.Line, n.Column, field, want, got)
}

// count returns the number of mistakes until now.
func (m *mistakes) count() int { return len(m.reported) + m.more }

// err returns nil, or all mistakes joined.
func (m *mistakes) err() error {
	if m.more > 0 {
		return errors.Join(append(m.reported, fmt.Errorf("limitfile: %s: and %d more", m.file, m.more))...)
	}
	return errors.Join(m.reported...)
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
