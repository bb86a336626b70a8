package weir

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"github.com/goweir/weir/internal/httptoken"
	"github.com/goweir/weir/store"
)

// Errors of a [KeyFunc], for errors.Is.
var (
	// ErrNoKey: a request has no identity, or a call's key is empty.
	ErrNoKey = errors.New("weir: no key")
	// ErrMalformedKey: a request states its identity in a wrong form, or more than once.
	ErrMalformedKey = errors.New("weir: malformed key")
)

// KeyFunc returns the key that a request counts against. Its error matches
// [ErrNoKey] if the request has no identity, and [ErrMalformedKey] if it states one in a
// wrong form or more than once. An empty key counts as ErrNoKey. Any other error means
// that the identity could not be determined. A KeyFunc must not change the request nor
// read its body. It must be safe for concurrent use.
//
// A limit is worth as much as its key is hard to invent: a client that controls
// the key gets a fresh allowance with each new one. Every function here says who
// controls its key. A function made from unusable arguments, as a nil function or
// a header name with a space in it, returns a *[ConfigError] on every call.
type KeyFunc func(r *http.Request) (string, error)

// KeyStatic returns a KeyFunc for which all requests share one key. The program alone
// controls it.
func KeyStatic(key string) KeyFunc {
	return func(*http.Request) (string, error) { return key, nil }
}

// KeyHeader returns a KeyFunc whose key is the value of a header as it stands. Its
// error is ErrNoKey if the header is missing or empty, ErrMalformedKey if it is on
// several lines or over 1024 bytes long.
//
// On a server the client controls a header, unless a trusted proxy overwrites it on
// every request. Never use KeyHeader for a secret, because the store keeps keys:
// use [KeyAPIKey] or [KeyBearer].
func KeyHeader(name string) KeyFunc {
	h, err := newOneHeader("KeyHeader.name", name, maxHeaderKey)
	if err != nil {
		return keyError(err)
	}
	return h.value
}

// KeyContext returns a KeyFunc whose key comes from the request's context, usually
// the user's ID that an authentication put there. Its error is ErrNoKey if from
// reports false or returns the empty string. The key is as trustworthy as that
// authentication, which has to run first. Values that gin's and echo's Context.Set
// hand on are not in that context: see weirgin.Key and weirecho.Key.
func KeyContext(from func(ctx context.Context) (string, bool)) KeyFunc {
	if from == nil {
		return keyError(&store.ConfigError{Field: "KeyContext.from", Want: "a function", Got: "nil"})
	}
	return func(r *http.Request) (string, error) {
		key, ok := from(r.Context())
		if !ok || key == "" {
			return "", errNoContextKey
		}
		return key, nil
	}
}

var (
	errEmptyKey     = fmt.Errorf("%w: the key is empty", ErrNoKey)
	errNoContextKey = fmt.Errorf("%w: the context holds no identity", ErrNoKey)
)

// KeyJoin returns a KeyFunc that counts by several functions together, as by user
// and route: its key is their keys with | between them. A | or \ within a key is
// written \| or \\, so that different keys never join to the same one.
//
// The functions are called in order; the first error is returned as it is.
// KeyFirst(f, KeyStatic("none")) makes a part optional. The joined key is as easy to
// invent as the easiest of its parts: each invention gives a user one more allowance.
func KeyJoin(fs ...KeyFunc) KeyFunc {
	fs, err := keyFuncs("KeyJoin", fs)
	if err != nil {
		return keyError(err)
	}
	return func(r *http.Request) (string, error) {
		joined := make([]byte, 0, 128)
		for i, f := range fs {
			key, err := f(r)
			switch {
			case err != nil:
				return "", err
			case key == "":
				return "", errEmptyKey
			case i > 0:
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
// first that finds an identity, as by user, else by address. If none of them finds
// one, the error is ErrNoKey. Any other error ends the search and is returned as it
// is: an identity that is stated twice, or malformed, is never taken for none.
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

// keyError returns the KeyFunc that always fails with err.
func keyError(err error) KeyFunc {
	return func(*http.Request) (string, error) { return "", err }
}

// maxHeaderKey bounds a header's value that is a key as it stands, in bytes. A
// store keeps keys, so keys without a bound would fill its memory.
const maxHeaderKey = 1024

// oneHeader reads a header that must be there exactly once.
type oneHeader struct {
	name                string // in canonical form
	max                 int    // bytes its value may have
	none, several, long error
}

func newOneHeader(field, name string, max int) (*oneHeader, error) {
	name, err := headerName(field, name)
	if err != nil {
		return nil, err
	}
	return &oneHeader{
		name: name, max: max,
		none:    fmt.Errorf("%w: the header %s is missing or empty", ErrNoKey, name),
		several: fmt.Errorf("%w: several %s headers", ErrMalformedKey, name),
		long:    fmt.Errorf("%w: the header %s is over %d bytes long", ErrMalformedKey, name, max),
	}, nil
}

// headerName returns the canonical name of a header, or a *ConfigError for field.
func headerName(field, name string) (string, error) {
	name = http.CanonicalHeaderKey(name)
	if !httptoken.Is(name) {
		return "", &store.ConfigError{Field: field, Want: "a header's name", Got: strconv.QuoteToASCII(name)}
	}
	if name == "Host" {
		// net/http moves it to Request.Host, so that it would never be found.
		return "", &store.ConfigError{Field: field, Want: "a header other than Host, which is KeyHost's", Got: strconv.Quote(name)}
	}
	return name, nil
}

func (h *oneHeader) value(r *http.Request) (string, error) {
	lines := r.Header[h.name]
	if len(lines) > 1 {
		return "", h.several
	}
	if len(lines) == 1 {
		v := textproto.TrimString(lines[0])
		if len(v) > h.max {
			return "", h.long
		}
		if v != "" {
			return v, nil
		}
	}
	return "", h.none
}
