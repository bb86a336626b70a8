package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/redisstore"
)

// replica is one process of the API, as far as limits go: it shares nothing
// with the others but Redis.
type replica struct {
	url    string
	store  *fallback.Store
	client *redis.Client
	server *http.Server
	served chan error // from the server's only goroutine
}

// probe is how long after its return Redis may be left alone. It is shorter
// than the default, as the outages are.
const probe = 250 * time.Millisecond

// newClient returns a client that is set up for a limiter. A decision must not
// be sent twice, and what takes longer than the fallback's budget is of no use
// any more; the client's own timeouts only have to end what was given up.
//
// After as many failed dials as its pool has places, counted over all outages,
// go-redis tries no more than one a second, and its user finds out later than
// the probe interval that Redis is back. The pool is that wide, not that full:
// it has as many connections as are used at once.
func newClient(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr:                  addr,
		ContextTimeoutEnabled: true,
		MaxRetries:            -1,
		DialerRetries:         1,
		DialTimeout:           250 * time.Millisecond,
		ReadTimeout:           250 * time.Millisecond,
		WriteTimeout:          250 * time.Millisecond,
		PoolSize:              1000,
	})
}

// startReplica starts one of n replicas. Whether Redis is there does not matter.
func startReplica(addr string, n int, all []customer, hook weir.Hook, onChange func(fallback.Change)) (*replica, error) {
	r := &replica{client: newClient(addr), served: make(chan error, 1)}
	h, err := r.handler(n, all, hook, onChange)
	if err != nil {
		_ = r.client.Close()
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		_ = r.client.Close()
		return nil, err
	}
	r.url = "http://" + l.Addr().String() + "/hello"
	r.server = &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() { r.served <- r.server.Serve(l) }()
	return r, nil
}

// handler is the API behind its limits.
func (r *replica) handler(n int, all []customer, hook weir.Hook, onChange func(fallback.Change)) (http.Handler, error) {
	primary, err := redisstore.New(redisstore.Config{Client: r.client})
	if err != nil {
		return nil, err
	}
	r.store, err = fallback.New(fallback.Config{
		Primary:  primary,
		Replicas: n,
		Probe:    probe,
		OnChange: onChange,
		Logger:   slog.New(slog.DiscardHandler), // the table at the end has it all
	})
	if err != nil {
		return nil, err
	}
	// These limits are for requests without a plan; every request here has one.
	limiter, err := weir.New(weir.Config{Name: "api", Store: r.store, Limits: []weir.Limit{all[0].plan}, Hook: hook})
	if err != nil {
		return nil, err
	}
	limit, err := middleware.New(middleware.Config{
		Limiter: limiter,
		// The store sees a keyed hash. All replicas need the same secret.
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
	_ = r.client.Close()
}
