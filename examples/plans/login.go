package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// newLoginLimits returns the limits on wrong passwords: by address for any account, and
// by account for any address. Right passwords cost nothing.
func newLoginLimits(store weir.Store) (func(http.Handler) http.Handler, error) {
	limiter := func(name string, limit weir.Limit) (*weir.Limiter, error) {
		return weir.New(weir.Config{Name: name, Store: store, Limits: []weir.Limit{limit}})
	}
	addresses, err := limiter("login by address", weir.PerMinute(5))
	if err != nil {
		return nil, err
	}
	refusals, err := limiter("refused logins", weir.Per(3, 10*time.Minute).By(weir.FixedWindow))
	if err != nil {
		return nil, err
	}
	accounts, err := limiter("login by account", weir.PerHour(3))
	if err != nil {
		return nil, err
	}
	byAddress, err := middleware.New(middleware.Config{
		Limiter:        addresses,
		Key:            weir.KeyRemoteIP(), // behind a proxy: KeyClientIP, as in examples/proxy
		Settle:         middleware.OnlyFailures,
		Penalty:        middleware.Penalty{Limiter: refusals, For: 10 * time.Minute},
		OnStoreFailure: middleware.FailClosed, // no decision means no login
		Headers:        middleware.HeadersNone,
	})
	if err != nil {
		return nil, err
	}
	// It has no penalty: a stranger could block an account by its name. A stranger can
	// still use up its attempts. That keeps the owner from logging in for a while, and
	// never from using an API key.
	byAccount, err := middleware.New(middleware.Config{
		Limiter:        accounts,
		Key:            accountOf,
		Challenge:      challenge,
		Settle:         middleware.OnlyFailures,
		OnStoreFailure: middleware.FailClosed,
		Headers:        middleware.HeadersNone,
	})
	if err != nil {
		return nil, err
	}
	// The address comes first: its refusals cost the account nothing.
	return func(login http.Handler) http.Handler { return byAddress(byAccount(login)) }, nil
}

const challenge = `Basic realm="login"`

// accountOf returns the account's name for the limit and for the login: two different
// readings would be a way around the limit. It does not check that the account exists, so
// refusals do not reveal it.
//
// The name is in a header because a key function must not read the body. If the name
// comes in a form, parse the form outside of the limit, and pass the name on in the
// request's context.
func accountOf(r *http.Request) (string, error) {
	name, _, ok := r.BasicAuth()
	switch {
	case !ok || name == "":
		return "", weir.ErrNoKey
	case len(name) > 64:
		return "", weir.ErrMalformedKey
	}
	return strings.ToLower(name), nil
}

// login answers with a new API key.
func (a *accounts) login() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, err := accountOf(r)
		_, password, _ := r.BasicAuth()
		if err != nil || !a.check(name, password) {
			w.Header().Set("WWW-Authenticate", challenge)
			http.Error(w, "wrong name or password", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_ = json.NewEncoder(w).Encode(map[string]string{"api_key": a.newKey(name)}) // the client may be gone
	})
}
