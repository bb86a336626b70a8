package limitfile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/goweir/weir"
	"go.yaml.in/yaml/v4"
)

// Error is a mistake in a limits file. It matches [weir.ErrConfig].
type Error struct {
	// File is the file's name as it was given.
	File string
	// Line and Column say where, from 1. The column counts characters.
	Line, Column int
	// Field is the path of what is wrong, as plans.free[1].rate: names of plans
	// and keys that are more than letters, digits, _ and - are quoted, as
	// keys["user:42"]. Empty: the file as a whole.
	Field string
	// Want is what was expected, Got what was found.
	Want, Got string
}

// Error returns file:line:column, the field, and what was expected and found.
// It shows what the file has in that place, which may be somebody's key.
func (e *Error) Error() string {
	s := fmt.Sprintf("limitfile: %s:%d:%d: ", e.File, e.Line, e.Column)
	if e.Field != "" {
		s += e.Field + ": "
	}
	return s + "want " + e.Want + ", got " + e.Got
}

// Is reports whether target is [weir.ErrConfig].
func (e *Error) Is(target error) bool { return target == weir.ErrConfig }

// mostErrors is how many mistakes of one file are told.
const mostErrors = 20

// mistakes reads a file and collects what is wrong with it.
type mistakes struct {
	file  string
	lists map[*yaml.Node][]weir.Limit // those that were read
	told  []error
	more  int // mistakes beyond mostErrors

	anchored map[*yaml.Node]readLimit // the limits that aliases may stand for
}

func (m *mistakes) add(line, column int, field, want, got string) {
	if len(m.told) == mostErrors {
		m.more++
		return
	}
	m.told = append(m.told, &Error{m.file, max(1, line), max(1, column), field, want, got})
}

// at adds a mistake in the place of a node.
func (m *mistakes) at(n *yaml.Node, field, want, got string) {
	m.add(n.Line, n.Column, field, want, got)
}

// err returns nil, or all mistakes joined.
func (m *mistakes) err() error {
	if m.more > 0 {
		return errors.Join(append(m.told, fmt.Errorf("limitfile: %s: and %d more", m.file, m.more))...)
	}
	return errors.Join(m.told...)
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

// describe says in words what a node is.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind != yaml.ScalarNode:
		return "something else" // a document in a document: no parser makes it
	case n.Tag == tagNull:
		return "nothing"
	case n.Tag == tagInt, n.Tag == tagFloat:
		return "the number " + shorten(n.Value)
	case n.Tag == tagBool:
		return shorten(n.Value)
	case n.Tag != tagText && n.Tag != tagTime:
		return "the tag " + quote(n.Tag)
	}
	return "the text " + quote(n.Value)
}

func quote(s string) string { return strconv.Quote(shorten(s)) }

// shorten keeps messages readable whatever is in the file.
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
