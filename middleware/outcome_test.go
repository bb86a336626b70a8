package middleware_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// TestLeavingIsNoFailure checks that a client which leaves before the answer can't have any
// amount of work for nothing, where failures cost nothing.
func TestLeavingIsNoFailure(t *testing.T) {
	t.Parallel()
	const limit, requests = 3, 12
	limited, err := middleware.New(middleware.Config{
		Limiter: on(t, newLocal(t), "api", weir.PerHour(limit)), Key: weir.KeyStatic("all"), Settle: middleware.OnlySuccesses,
	})
	if err != nil {
		t.Fatal(err)
	}
	var ran atomic.Int64
	leave, ended := make(chan context.CancelFunc, 1), make(chan struct{}, 1)
	work := limited(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ran.Add(1)
		(<-leave)()
		<-r.Context().Done() // as the handler's query, or its request to a backend
		w.WriteHeader(http.StatusBadGateway)
	}))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		work.ServeHTTP(w, r)
		ended <- struct{}{}
	}))
	t.Cleanup(srv.Close)
	for range requests {
		ctx, cancel := context.WithCancel(t.Context())
		leave <- cancel
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := srv.Client().Do(r); err == nil {
			_ = resp.Body.Close()
			(<-leave)() // It was refused.
		}
		<-ended
	}
	if n := ran.Load(); n != limit {
		t.Errorf("%d of %d ran, want %d", n, requests, limit)
	}
}
