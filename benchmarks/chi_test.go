package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/localstore"
)

// TestChiRoutes checks that chi's routes become keys once they are known. It is here
// because chi is no dependency of the library.
func TestChiRoutes(t *testing.T) {
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	limiter, err := weir.New(weir.Config{Name: "bench", Store: store, Limits: []weir.Limit{weir.PerDay(1)}})
	if err != nil {
		t.Fatal(err)
	}
	limit, err := middleware.New(middleware.Config{Limiter: limiter, Key: weir.KeyRoute()})
	if err != nil {
		t.Fatal(err)
	}
	h := func(w http.ResponseWriter, r *http.Request) {
		key, err := weir.KeyRoute()(r)
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write([]byte(key))
	}
	r := chi.NewRouter()
	r.With(limit).Get("/things/{id}", h)
	r.Group(func(r chi.Router) {
		r.Use(limit)
		r.HandleFunc("/files/*", h)
	})
	r.Route("/users", func(r chi.Router) { r.With(limit).Get("/{id}", h) })
	r.Route("/teams", func(r chi.Router) {
		r.Use(limit) // before the route is known: all teams share a key
		r.Get("/{id}", func(http.ResponseWriter, *http.Request) {})
	})
	early := chi.NewRouter()
	early.Use(limit) // before any route has matched
	early.Get("/things/{id}", h)
	front := http.NewServeMux()
	front.Handle("/things/", r)

	for _, tt := range []struct {
		name         string
		handler      http.Handler
		method, path string
		status       int
		key          string
	}{
		{"a route", r, "GET", "/things/7", 200, "GET /things/{id}"},
		{"the same route", r, "GET", "/things/8", 429, ""},
		{"the same through a ServeMux", front, "GET", "/things/9", 429, ""},
		{"a sub-router's route", r, "GET", "/users/7", 200, "GET /users/{id}"},
		{"the same sub-router's route", r, "GET", "/users/8", 429, ""},
		{"a wildcard", r, "PUT", "/files/a/b", 200, "PUT /files/*"},
		{"another method", r, "GET", "/files/a/b", 200, "GET /files/*"},
		{"the same wildcard", r, "PUT", "/files/c", 429, ""},
		{"Use of a sub-router", r, "GET", "/teams/7", 200, ""},
		{"Use of a sub-router again", r, "GET", "/teams/8", 429, ""},
		{"no route", r, "GET", "/nothing", 404, ""},
		{"Use of the outermost router", early, "GET", "/things/7", 401, ""},
	} {
		w := httptest.NewRecorder()
		tt.handler.ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, http.NoBody))
		if w.Code != tt.status || w.Code == 200 && w.Body.String() != tt.key {
			t.Errorf("%s: %d, key %q, want %d, %q", tt.name, w.Code, w.Body, tt.status, tt.key)
		}
	}
}
