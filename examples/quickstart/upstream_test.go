package main

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestUpstream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		up := newUpstream([]allowance{{2, 5 * time.Second}})
		call := func() *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			up.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
			return w
		}
		for i, want := range []int{200, 200, 429} {
			if w := call(); w.Code != want {
				t.Errorf("call %d: %d, want %d", i, w.Code, want)
			}
		}
		time.Sleep(4*time.Second - time.Nanosecond)
		if w := call(); w.Code != 429 || w.Header().Get("Retry-After") != "2" {
			t.Errorf("early: %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
		}
		time.Sleep(time.Second + time.Nanosecond)
		if w := call(); w.Code != 200 {
			t.Errorf("after exactly one period: %d", w.Code)
		}
		if admitted, refused := up.counts(); admitted != 3 || refused != 2 {
			t.Errorf("counted %d admitted, %d refused", admitted, refused)
		}
		want := []time.Duration{0, 0, 0, 4*time.Second - 1, 5 * time.Second}
		if got := up.seen(); !slices.Equal(got, want) {
			t.Errorf("arrivals %v, want %v", got, want)
		}
	})
}
