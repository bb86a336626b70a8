package contender

import (
	"context"
	"errors"
	"net/http"

	"github.com/go-chi/httprate"
	httprateredis "github.com/go-chi/httprate-redis"
)

// HTTPRate is httprate, and httprate-redis over Redis: two weighted counters.
func HTTPRate() Contender {
	return Contender{
		Name: "httprate", Module: "github.com/go-chi/httprate",
		Note: "httprate decides for HTTP requests only: elsewhere it is given a request and a response that cost nothing. Over Redis it is httprate-redis, which brings a fallback of its own.",
		Local: func(_ Cleaner, l Limit) (Decide, error) {
			return decideHTTPRate(httprate.NewRateLimiter(int(l.Burst), l.Window)), nil
		},
		Redis: func(c Cleaner, l Limit, at Servers) (Decide, error) {
			counter := httprateredis.NewCounter(&httprateredis.Config{Client: at.Single(c), WindowLength: l.Window})
			return decideHTTPRate(httprate.NewRateLimiter(int(l.Burst), l.Window, httprate.WithLimitCounter(counter))), nil
		},
		Web: Web{NetHTTP, func(_ Cleaner, l Limit, h http.Handler) (http.Handler, error) {
			key := func(r *http.Request) (string, error) { return r.Header.Get(KeyHeader), nil }
			return httprate.LimitBy(int(l.Burst), l.Window, key)(h), nil
		}},
	}
}

var errHTTPRate = errors.New("httprate answered 428: its store failed")

// failWriter remembers an error of httprate's store.
type failWriter struct {
	header http.Header
	status int
}

func (w *failWriter) Header() http.Header         { return w.header }
func (w *failWriter) Write(p []byte) (int, error) { return len(p), nil }
func (w *failWriter) WriteHeader(status int)      { w.status = status }

func decideHTTPRate(l *httprate.RateLimiter) Decide {
	request, err := http.NewRequest(http.MethodGet, "/", http.NoBody)
	return func(_ context.Context, key string) (bool, error) {
		w := failWriter{header: make(http.Header, 4)}
		limited := l.OnLimit(&w, request, key)
		if w.status == http.StatusPreconditionRequired {
			return false, errHTTPRate
		}
		return !limited, err
	}
}
