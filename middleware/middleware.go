package middleware

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/goweir/weir"
)

// New returns the middleware, or a *[weir.ConfigError] that names the wrong
// field. It does no I/O. See [Guard] for other frameworks.
func New(cfg Config) (func(http.Handler) http.Handler, error) {
	g, err := NewGuard(cfg)
	if err != nil {
		return nil, err
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			passed, ok := g.Check(w, r)
			if !ok {
				return
			}
			defer g.Done(r, passed)
			if !g.Settles() || passed == r {
				next.ServeHTTP(w, passed)
				return
			}
			w, settle := g.Record(w, r, passed)
			ended := false
			defer func() { settle(ended) }()
			next.ServeHTTP(w, passed)
			ended = true
		})
	}, nil
}

// Bridge brings the context of a framework, of type C, to key functions, which get
// the request alone. An adapter has one. The zero value is ready for use, and safe
// for concurrent use.
type Bridge[C any] struct{ used atomic.Bool }

// Key returns a KeyFunc whose key comes from the framework's context. Its error is
// weir.ErrNoKey if from reports false or returns the empty string, and a
// *[weir.ConfigError] for a nil from, and for a request that Carry did not return.
func (b *Bridge[C]) Key(from func(C) (string, bool)) weir.KeyFunc {
	b.used.Store(true)
	return func(r *http.Request) (string, error) {
		c, ok := r.Context().Value(b).(C)
		switch {
		case from == nil:
			return "", &weir.ConfigError{Field: "Key.from", Want: "a function", Got: "nil"}
		case !ok:
			return "", &weir.ConfigError{Field: "Key", Want: "a request of the adapter's middleware", Got: "another"}
		}
		if key, ok := from(c); ok && key != "" {
			return key, nil
		}
		return "", weir.ErrNoKey
	}
}

// Carry returns the request for [Guard.Check]: r with c for the functions of Key, or
// r itself, without an allocation, before the first call of Key.
func (b *Bridge[C]) Carry(r *http.Request, c C) *http.Request {
	if !b.used.Load() {
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), b, c))
}
