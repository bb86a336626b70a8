package contender

import (
	"context"
	"net/http"
	"sync"

	xrate "golang.org/x/time/rate"
)

// XTimeRate is the most common hand-written limiter: those of golang.org/x/time/rate in a
// map.
func XTimeRate() Contender {
	return Contender{
		Name: "x/time/rate in a map", Module: "golang.org/x/time",
		Note: "x/time/rate knows no keys: it is put into a map behind an RWMutex, which never forgets one.",
		Local: func(_ Cleaner, l Limit) (Decide, error) {
			of := newLimiterMap(l)
			return func(_ context.Context, key string) (bool, error) { return of.get(key).Allow(), nil }, nil
		},
		Waiting: func(_ Cleaner, l Limit, _ Servers) (Wait, error) {
			of := newLimiterMap(l)
			return func(ctx context.Context, key string) error { return of.get(key).Wait(ctx) }, nil
		},
		LocalWaiting: true,
		Transport: func(_ Cleaner, l Limit, base http.RoundTripper) (http.RoundTripper, error) {
			return &xTransport{base, newLimiterMap(l)}, nil
		},
	}
}

type limiterMap struct {
	limit    Limit
	mu       sync.RWMutex
	limiters map[string]*xrate.Limiter
}

func newLimiterMap(l Limit) *limiterMap {
	return &limiterMap{limit: l, limiters: make(map[string]*xrate.Limiter)}
}

func (m *limiterMap) get(key string) *xrate.Limiter {
	m.mu.RLock()
	l := m.limiters[key]
	m.mu.RUnlock()
	if l != nil {
		return l
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if l = m.limiters[key]; l == nil {
		l = xrate.NewLimiter(xrate.Every(m.limit.Refill), int(m.limit.Burst))
		m.limiters[key] = l
	}
	return l
}

// xTransport is the usual RoundTripper around it.
type xTransport struct {
	base http.RoundTripper
	of   *limiterMap
}

func (t *xTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.of.get(r.URL.Host).Wait(r.Context()); err != nil {
		return nil, err
	}
	return t.base.RoundTrip(r)
}
