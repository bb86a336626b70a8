package weirtest_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/weirtest"
)

// TestZeroProvider: a Provider that NewProvider has not made answers with an error, and no
// method panics.
func TestZeroProvider(t *testing.T) {
	t.Parallel()
	const want = "weirtest.Provider: want one made by NewProvider, got a zero one"
	p := new(weirtest.Provider)
	p.Refuse(1, time.Second)
	p.RefuseFor(time.Second)
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), want) {
		t.Errorf("%d, %q, want a 500 with %q", w.Code, w.Body, want)
	}
	client := &http.Client{Transport: p.Transport()}
	resp, err := client.Get("http://api.example/")
	if err != nil || resp.StatusCode != http.StatusInternalServerError {
		t.Fatalf("%v, %v, want a 500", resp, err)
	}
	_ = resp.Body.Close()
	if err := p.SetLimits(weir.PerSecond(1)); !errors.Is(err, store.ErrConfig) {
		t.Errorf("SetLimits: %v, want a ConfigError", err)
	}
	if n, c := p.MaxIn(time.Second), p.Counts(); len(p.Limits())+len(p.Arrivals())+n > 0 || c.Arrived() != 0 {
		t.Errorf("%d arrivals, %+v, want none", n, c)
	}
}

// TestZeroServer: Close of a Server that NewServer has not made returns an error.
func TestZeroServer(t *testing.T) {
	t.Parallel()
	s := new(weirtest.Server)
	for range 2 {
		if err := s.Close(); !errors.Is(err, store.ErrConfig) || !strings.Contains(err.Error(), "want one made by NewServer") {
			t.Errorf("%v, want a ConfigError", err)
		}
	}
}
