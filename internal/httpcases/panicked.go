package httpcases

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// testPanickedFailures checks that handlers which write a few bytes and panic are
// failures: no client gets to run more of them than the limit admits.
func testPanickedFailures(t *testing.T, mount Mount) {
	const limit, requests = 3, 21
	for version := 1; version <= 2; version++ {
		t.Run(fmt.Sprint("HTTP/", version), func(t *testing.T) {
			t.Parallel()
			var ran atomic.Int64
			cfg := byUser(t, newStore(), weir.PerHour(limit))
			cfg.Settle = middleware.OnlyFailures
			send := attempts(t, version, mustMount(t, mount, cfg, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ran.Add(1)
				handler(w, r)
				panic(http.ErrAbortHandler)
			})))
			for range requests {
				send()
			}
			if n := ran.Load(); n != limit {
				t.Errorf("%d of %d ran, want %d", n, requests, limit)
			}
		})
	}
}

// testPanickedSizes checks that a panic is a 500 if and only if the client got no status.
func testPanickedSizes(t *testing.T, mount Mount) {
	for version := 1; version <= 2; version++ {
		for _, size := range []int64{0, 1, 512, 2048, 2049, 4096, 4097, 100_000} {
			t.Run(fmt.Sprintf("HTTP/%d, %d bytes", version, size), func(t *testing.T) {
				t.Parallel()
				var outcome middleware.Outcome
				cfg := byUser(t, newStore(), weir.PerHour(1))
				cfg.Settle = func(_ *http.Request, o middleware.Outcome) int64 { outcome = o; return o.Cost }
				send := attempts(t, version, mustMount(t, mount, cfg, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					_, _ = io.CopyN(w, strings.NewReader(strings.Repeat("x", int(size))), size)
					panic(http.ErrAbortHandler)
				})))
				want := middleware.Outcome{Status: http.StatusInternalServerError, Bytes: size, Cost: 1}
				if send() {
					want.Status = http.StatusOK
				}
				if outcome != want {
					t.Errorf("outcome %+v, want %+v", outcome, want)
				}
			})
		}
	}
}

// attempts starts a server and returns a function that sends a request by ann, waits
// until its handler has ended, and reports whether the request was answered.
func attempts(t *testing.T, version int, h http.Handler) func() bool {
	t.Helper()
	ended := make(chan struct{}, 1)
	srv := listen(t, version, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { ended <- struct{}{} }()
		h.ServeHTTP(w, r)
	}))
	return func() bool {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/things", http.NoBody)
		must(t, err)
		r.Header.Set("X-User", "ann")
		resp, err := srv.Client().Do(r)
		<-ended // first: a client that leaves makes a Write under way fail
		if err == nil {
			_ = resp.Body.Close()
		}
		return err == nil
	}
}
