package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/redisstore"
)

// replica is one process of the API as far as limits go: it shares Redis with the others,
// and nothing else.
type replica struct {
	url    string
	redis  *redisstore.Store
	store  *fallback.Store
	server *http.Server
	served chan error // by the server's only goroutine
}

// probe is the maximum time between the return of Redis and its use. It is shorter than
// the default, like the outages.
const probe = 250 * time.Millisecond

// startReplica starts one of n replicas, with or without Redis.
func startReplica(addr string, n int, all []customer, hook weir.Hook, onChange func(fallback.Change)) (*replica, error) {
	redis, err := redisstore.Open("redis://"+addr, redisstore.Config{})
	if err != nil {
		return nil, err
	}
	r := &replica{redis: redis, served: make(chan error, 1)}
	h, err := r.handler(n, all, hook, onChange)
	if err != nil {
		_ = redis.Close()
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		_ = redis.Close()
		return nil, err
	}
	r.url = "http://" + l.Addr().String() + "/hello"
	r.server = &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() { r.served <- r.server.Serve(l) }()
	return r, nil
}

// handler is the API behind its limits.
func (r *replica) handler(n int, all []customer, hook weir.Hook, onChange func(fallback.Change)) (http.Handler, error) {
	var err error
	r.store, err = fallback.New(fallback.Config{
		Primary:  r.redis,
		Replicas: n,
		Probe:    probe,
		OnChange: onChange,
		Logger:   slog.New(slog.DiscardHandler), // the final table has the same
	})
	if err != nil {
		return nil, err
	}
	// The limits of a request's plan replace these. Every request here has a plan.
	limiter, err := weir.New(weir.Config{Name: "api", Store: r.store, Limits: []weir.Limit{all[0].plan}, Hook: hook})
	if err != nil {
		return nil, err
	}
	limit, err := middleware.New(middleware.Config{
		Limiter: limiter,
		// The store gets a keyed hash. All replicas need the same secret.
		Key: weir.KeyAPIKey("X-API-Key", []byte("a secret of this API")),
		Limits: func(r *http.Request) ([]weir.Limit, error) {
			c, _ := byKey(all, r.Header.Get("X-API-Key"))
			return []weir.Limit{c.plan}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	limited := limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintln(w, "hello")
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := byKey(all, r.Header.Get("X-API-Key")); !ok {
			http.Error(w, "unknown API key", http.StatusUnauthorized)
			return
		}
		limited.ServeHTTP(w, r)
	}), nil
}

func (r *replica) close() {
	_ = r.server.Close()
	<-r.served
	_ = r.redis.Close()
}
