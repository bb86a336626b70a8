package weir

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/goweir/weir/store"
)

// KeyJoin returns a KeyFunc that counts by several functions together, as by user
// and route: its key is their keys with | between them. A | or \ within a key is
// written \| or \\, so that different keys never join to the same one, empty keys
// and nested joins included.
//
// The functions are called in order; the first error is returned as it is. The
// joined key is as easy to invent as the easiest of its parts: a user's ID joined
// with a key that the client controls gives the user one allowance per invention.
func KeyJoin(fs ...KeyFunc) KeyFunc {
	fs, err := keyFuncs("KeyJoin", fs)
	if err != nil {
		return keyError(err)
	}
	return func(r *http.Request) (string, error) {
		joined := make([]byte, 0, 128)
		for i, f := range fs {
			key, err := f(r)
			if err != nil {
				return "", err
			}
			if i > 0 {
				joined = append(joined, '|')
			}
			joined = append(joined, joinEscaper.Replace(key)...)
		}
		return string(joined), nil
	}
}

// joinEscaper marks the characters of a key that mean something in a joined one.
var joinEscaper = strings.NewReplacer(`|`, `\|`, `\`, `\\`)

// KeyFirst returns a KeyFunc that asks several functions in order and counts by the
// first that finds an identity, as by user, else by address. An empty key is no
// identity here. If none of them finds one, the error is ErrNoKey. Any other error
// ends the search and is returned as it is: an identity that is stated twice, or
// malformed, is never taken for none.
//
// The key is the function's position, |, and its key, as "0|u-1" and
// "1|192.0.2.7", so that a user called 192.0.2.7 never shares an address's key.
// Another order of the functions gives every client a fresh allowance once.
//
// A client that leaves out one identity is counted by the next function, so it has
// the allowances of all. A client that can invent one of the keys is not limited.
// Mount KeyFirst behind the authentication: in front of it, every request looks
// like one without a user, and counts by the last function.
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

// keyFuncs returns a copy of the functions that a combining function of that name
// takes, or a *ConfigError.
func keyFuncs(of string, fs []KeyFunc) ([]KeyFunc, error) {
	if len(fs) == 0 {
		return nil, &store.ConfigError{Field: of + ".fs", Want: "at least one function", Got: "none"}
	}
	if i := slices.IndexFunc(fs, func(f KeyFunc) bool { return f == nil }); i >= 0 {
		return nil, &store.ConfigError{Field: of + ".fs[" + strconv.Itoa(i) + "]", Want: "a function", Got: "nil"}
	}
	return slices.Clone(fs), nil
}
