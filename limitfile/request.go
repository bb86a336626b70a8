package limitfile

import (
	"errors"
	"net/http"

	"github.com/goweir/weir"
)

// Limits returns a function for the field Limits of the package middleware's Config.
// It returns the limits that hold for a request at that moment: a change of the file
// holds from the next request on.
//
// The key function returns the key that the file may have limits for, usually the Key
// of the same Config. Nil: no key has limits of its own. The plan function returns the
// name of the request's plan, as the authentication found it. It is not called for a
// key with limits of its own.
//
//	plan function's result                       limits
//	the name of a plan in the file               the plan's
//	another name                                 the default plan's, and the log says so once
//	the empty name, no function                  the default plan's
//	ErrNoKey, ErrMalformedKey                    the default plan's
//	any other error                              none: the error is returned
//
// The two errors of the key function mean a key without limits of its own: a
// request that the Config's OnNoKey counts has the limits of its plan. Any other
// error is an outage to the middleware. A client that can cause one is not limited
// under FailOpen.
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
		if set.plans[p] == nil && p != "" && f.cfg.Logger != nil && set.lacks.CompareAndSwap(false, true) {
			f.cfg.Logger.Warn("limitfile: the file lacks a request's plan, and the default plan holds", "file", f.cfg.Path, "plan", p)
		}
		return set.For(k, p), nil
	}
}

// find returns the empty string for a request without a usable identity. No plan and
// no key has that name.
func find(f weir.KeyFunc, r *http.Request) (string, error) {
	if f == nil {
		return "", nil
	}
	s, err := f(r)
	if errors.Is(err, weir.ErrNoKey) || errors.Is(err, weir.ErrMalformedKey) {
		return "", nil
	}
	return s, err
}
