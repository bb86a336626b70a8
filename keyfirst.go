package weir

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
)

// KeyFirst returns a KeyFunc that asks several functions in order and counts by
// the first that finds an identity, as by user, and by address where there is
// none. An empty key is no identity here. When none of them finds one the
// error is ErrNoKey. Any other error ends the search and is returned as it is:
// an identity that is stated twice, or malformed, is never taken for none.
//
// The key is the function's position, |, and its key, as "0|u-1" and
// "1|192.0.2.7", so that a user called 192.0.2.7 is nobody's address. Another
// order of the functions gives everyone a fresh allowance once.
//
// A client that leaves out what one function looks for is counted by the next,
// so it has the allowances of all, and whoever can invent the key of one is
// not limited. And a request without a user looks like one whose user nobody
// has looked for yet: mounted outside of the authentication, KeyFirst counts
// everybody by the last function.
func KeyFirst(fs ...KeyFunc) KeyFunc {
	fs, err := keyFuncs("KeyFirst", fs)
	if err != nil {
		return keyError(err)
	}
	return func(r *http.Request) (string, error) {
		for i, f := range fs {
			key, err := f(r)
			switch {
			case err == nil && key != "":
				return strconv.Itoa(i) + "|" + key, nil
			case err != nil && !errors.Is(err, ErrNoKey):
				return "", err
			}
		}
		return "", errNoneFound
	}
}

var errNoneFound = fmt.Errorf("%w: no function found an identity", ErrNoKey)

// keyFuncs returns a copy of the functions that of combines, or a *ConfigError.
func keyFuncs(of string, fs []KeyFunc) ([]KeyFunc, error) {
	if len(fs) == 0 {
		return nil, &ConfigError{Field: of + ".fs", Want: "at least one function", Got: "none"}
	}
	if i := slices.IndexFunc(fs, func(f KeyFunc) bool { return f == nil }); i >= 0 {
		return nil, &ConfigError{Field: of + ".fs[" + strconv.Itoa(i) + "]", Want: "a function", Got: "nil"}
	}
	return slices.Clone(fs), nil
}
