package main

import (
	"context"
	"fmt"
	"net/http"
)

type userKey struct{}

// userOf returns the user of a request, after authenticate.
func userOf(ctx context.Context) (string, bool) {
	name, ok := ctx.Value(userKey{}).(string)
	return name, ok
}

// authenticate refuses requests without a valid API key, and puts the user of the others
// into their context.
func (a *accounts) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := a.byKey(r.Header.Get("X-API-Key"))
		if !ok {
			http.Error(w, "no valid X-API-Key: POST /login gives one", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, name)))
	})
}

// hello is the API.
func hello() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _ := userOf(r.Context())
		fmt.Fprintf(w, "hello, %s\n", name)
	})
}

// changePlan gives a customer another plan. A real one would take a payment.
func (a *accounts) changePlan() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _ := userOf(r.Context())
		plan := r.PathValue("plan")
		if _, ok := plans[plan]; !ok {
			http.Error(w, "there is no such plan", http.StatusNotFound)
			return
		}
		a.setPlan(name, plan)
		fmt.Fprintf(w, "%s has the %s plan now\n", name, plan)
	})
}
