package limitfile

import (
	"fmt"

	"github.com/goweir/weir"
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
