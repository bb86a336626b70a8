package middleware

import "net/http"

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
