package dashboard

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
)

// TestUpstreamThatRefuses sends requests to a provider that announces the remaining ones,
// and then refuses.
func TestUpstreamThatRefuses(t *testing.T) {
	t.Parallel()
	f := newFleet(t, Config{ShowKeys: true})
	refuse := false
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-RateLimit-Limit", "5000")
		w.Header().Set("X-RateLimit-Remaining", "4321")
		if refuse {
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	defer provider.Close()
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	l := newLimiter(t, f.client, "github", weir.Outbound(100, time.Second), f.dash.Observe)
	transport, err := weir.NewTransport(weir.TransportConfig{Limiter: l, Key: weir.KeyHost(), Base: base})
	must(t, err)
	get := func() {
		t.Helper()
		answer, err := (&http.Client{Transport: transport}).Get(provider.URL)
		must(t, err)
		_ = answer.Body.Close()
	}
	get()
	got := f.await(t, "the budget", func(got *frame) bool { return len(got.Upstream) == 1 })
	if u := got.Upstream[0]; u.Limiter != "github" || *u.Limit != 5000 || *u.Remaining != 4321 {
		t.Errorf("%s", encode(got))
	}
	refuse = true
	get()
	got = f.await(t, "the pause", func(got *frame) bool { return len(got.Slowed) == 1 })
	host := strings.TrimPrefix(provider.URL, "http://")
	if s := got.Slowed[0]; !strings.Contains(s.Key, host) || s.Reason != "an upstream asked" || s.Pause < 50_000 {
		t.Errorf("%+v", s)
	}
	if !strings.Contains(got.Log[0].Text, host+": the upstream refused with 429 and asked for 1m0s") {
		t.Errorf("%+v", got.Log)
	}
	if l := got.Process.Limiters[0]; l.Admitted != 2 {
		t.Errorf("%+v", l)
	}
}
