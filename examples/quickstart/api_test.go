package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/store/localstore"
)

func TestAPI(t *testing.T) {
	t.Parallel()
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	api, err := newAPI(store, "api")
	if err != nil {
		t.Fatal(err)
	}
	request := func(apiKey string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("X-API-Key", apiKey)
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		return w
	}
	if w := request("invented"); w.Code != http.StatusUnauthorized || w.Header().Get("Ratelimit") != "" {
		t.Errorf("an invented key: %d, %v", w.Code, w.Header())
	}
	for _, c := range customers {
		if w := request(c.apiKey); w.Code != 200 || !strings.Contains(w.Body.String(), c.name) ||
			!strings.HasPrefix(w.Header().Get("Ratelimit"), `"`+c.name+`";r=`) {
			t.Errorf("%s: %d %q, %v", c.name, w.Code, w.Body, w.Header())
		}
	}
}

func TestHammer(t *testing.T) {
	t.Parallel()
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	api, err := newAPI(store, "api")
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve(api)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	free := &served{customer: customers[0]}
	stranger := &served{customer: customer{apiKey: "invented"}}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	hammer(ctx, s.url, []*served{free, stranger}, time.Millisecond)

	ok, limited := free.ok.Load(), free.limited.Load()
	if free.err != nil || ok < 5 || ok > free.most() || limited == 0 || ok+limited != free.requests.Load() {
		t.Errorf("free: %d served of at most %d, %d refused, %v", ok, free.most(), limited, free.err)
	}
	if !strings.HasPrefix(free.sample200, "HTTP/1.1 200 OK\r\n") || !strings.Contains(free.sample429, "Retry-After: 1\r\n") {
		t.Errorf("samples %q and %q", free.sample200, free.sample429)
	}
	if stranger.err == nil || stranger.requests.Load() != 1 {
		t.Errorf("a stranger: %d requests, %v", stranger.requests.Load(), stranger.err)
	}
}
