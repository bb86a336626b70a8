package limitfile

import (
	"errors"
	"net/http"

	"github.com/goweir/weir"
)

// Limits returns a function for the field Limits of the package middleware's
// Config, by which each request has the limits that the file has for it at that
// moment: a change holds from the next request on.
//
// The key function finds the key that the file's overrides are for, usually the
// Key of the same Config. Nil: the overrides are not looked up. The plan function
// finds the name of the request's plan, as the authentication found it, and is
// not called for a key with limits of its own. Nil, an error that matches
// [weir.ErrNoKey], an empty name or one that the file does not have: the default
// plan. So it is with one that matches [weir.ErrAmbiguousKey] or
// [weir.ErrMalformedKey], of either function: a request that the Config's OnNoKey
// counts has the limits of one without an identity. Any other error is returned,
// and is an outage to the middleware, so that a client that can cause it is not
// limited under FailOpen.
func (f *File) Limits(key, plan weir.KeyFunc) func(*http.Request) ([]weir.Limit, error) {
	return func(r *http.Request) ([]weir.Limit, error) {
		k, err := find(key, r)
		if err != nil {
			return nil, err
		}
		set := f.Set()
		if limits, ok := set.keys[k]; ok {
			return limits, nil
		}
		p, err := find(plan, r)
		if err != nil {
			return nil, err
		}
		return set.For(k, p), nil
	}
}

// find returns the empty string for a request of which nothing is known. It is
// the name of no plan and no key.
func find(f weir.KeyFunc, r *http.Request) (string, error) {
	if f == nil {
		return "", nil
	}
	s, err := f(r)
	if errors.Is(err, weir.ErrNoKey) || errors.Is(err, weir.ErrAmbiguousKey) || errors.Is(err, weir.ErrMalformedKey) {
		return "", nil
	}
	return s, err
}
