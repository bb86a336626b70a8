package limitfile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/goweir/weir"
	"go.yaml.in/yaml/v4"
)

// Error is a mistake in a limits file. It matches [weir.ErrConfig].
type Error struct {
	// File is the name of the file, as it was given.
	File string
	// Line and Column are the place of the mistake, from 1. Columns count
	// characters.
	Line, Column int
	// Field is the path of the wrong field, as plans.free[1].rate. Names of plans
	// and keys with other characters than letters, digits, _ and - are quoted, as
	// keys["user:42"]. Empty: the file as a whole.
	Field string
	// Want is the expected value, Got the value in the file.
	Want, Got string
}

// Error returns file:line:column, the field, and the expected and the found value.
// It quotes the file in that place, which may hold a user's key.
func (e *Error) Error() string {
	s := fmt.Sprintf("limitfile: %s:%d:%d: ", e.File, e.Line, e.Column)
	if e.Field != "" {
		s += e.Field + ": "
	}
	return s + "want " + e.Want + ", got " + e.Got
}

// Is reports whether target is [weir.ErrConfig].
func (e *Error) Is(target error) bool { return target == weir.ErrConfig }

// mostErrors bounds the mistakes of one file that are reported.
const mostErrors = 20

// reader reads a file, and collects the mistakes in it.
type reader struct {
	file  string
	found []*Error
}

func (r *reader) add(line, column int, field, want, got string) {
	r.found = append(r.found, &Error{r.file, max(1, line), max(1, column), field, want, got})
}

// at adds a mistake in the place of a node.
func (r *reader) at(n *yaml.Node, field, want, got string) {
	r.add(n.Line, n.Column, field, want, got)
}

// err returns nil, or all mistakes joined, in the order of the file.
func (r *reader) err() error {
	slices.SortStableFunc(r.found, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Field, b.Field))
	})
	var errs []error
	for i, e := range r.found {
		if i == mostErrors {
			errs = append(errs, fmt.Errorf("limitfile: %s: and %d more", r.file, len(r.found)-i))
			break
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

// child returns the path of a name within a field.
func child(field, name string) string {
	strange := func(r rune) bool { return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	if name == "" || strings.ContainsFunc(name, strange) {
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
	if start := fmt.Sprintf("%.60s", s); start != s {
		return start + "…"
	}
	return s
}
