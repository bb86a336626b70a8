package main

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/localstore"
)

// newApp returns the app. It trusts the addresses in headers from proxies in these
// networks, and from no other clients.
func newApp(proxies ...netip.Prefix) (http.Handler, error) {
	store, err := localstore.New(localstore.Config{}) // with replicas: as in examples/plans
	if err != nil {
		return nil, err
	}
	byAddress, err := weir.KeyClientIP(weir.ClientIP{Header: "X-Forwarded-For", Trusted: proxies})
	if err != nil {
		return nil, err
	}
	limitVisitors, err := newLimit("visitors", store, byAddress)
	if err != nil {
		return nil, err
	}
	// Users count by their name, from any address, and all others by address.
	byUser := weir.KeyFirst(weir.KeyContext(userOf), byAddress)
	limitReaders, err := newLimit("readers", store, byUser)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /hello", limitVisitors(hello()))
	mux.Handle("GET /feed", authenticate(limitReaders(hello()))) // in the other order all are visitors
	return mux, nil
}

func newLimit(name string, store weir.Store, key weir.KeyFunc) (func(http.Handler) http.Handler, error) {
	limiter, err := weir.New(weir.Config{Name: name, Store: store, Limits: []weir.Limit{weir.PerMinute(2)}})
	if err != nil {
		return nil, err
	}
	return middleware.New(middleware.Config{Limiter: limiter, Key: key})
}

type userKey struct{}

func userOf(ctx context.Context) (string, bool) {
	name, ok := ctx.Value(userKey{}).(string)
	return name, ok
}

// passwords are in place of a real check as in examples/plans.
var passwords = map[string]string{"ann": "pelican-92", "bob": "walrus-17"}

// authenticate finds the user of a request. A login is optional, but a wrong one is
// refused.
func authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, password, ok := r.BasicAuth()
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		if want, known := passwords[name]; !known || want != password {
			http.Error(w, "wrong name or password", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, name)))
	})
}

func hello() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
}
