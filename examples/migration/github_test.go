package migration

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// gitHub answers like GitHub: the first request hits a secondary limit of a minute, and
// so do all others in that time.
type gitHub struct {
	mu      sync.Mutex
	until   time.Time
	refused int
	bodies  []string // of the admitted requests
}

func (g *gitHub) RoundTrip(r *http.Request) (*http.Response, error) {
	body := ""
	if r.Body != nil {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		body = string(b)
		_ = r.Body.Close()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.until.IsZero() {
		g.until = time.Now().Add(time.Minute)
	}
	if time.Now().Before(g.until) {
		g.refused++
		return &http.Response{
			StatusCode: http.StatusForbidden,
			Header:     http.Header{"Retry-After": {"60"}, "Content-Type": {"application/json"}},
			Body: io.NopCloser(strings.NewReader(`{"message":"You have exceeded a secondary rate limit.",` +
				`"documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`)),
			Request: r,
		}, nil
	}
	g.bodies = append(g.bodies, body)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// Five processes add labels. Before, each has to find the limit by itself, and then sends
// an empty body.
func TestGitHub(t *testing.T) {
	for _, c := range []struct {
		name    string
		clients func(t *testing.T, api http.RoundTripper) []*http.Client
		refused int
		body    string
	}{
		{"before", func(_ *testing.T, api http.RoundTripper) (clients []*http.Client) {
			for range 5 {
				clients = append(clients, githubBefore(api))
			}
			return clients
		}, 5, ""},
		{"after", func(t *testing.T, api http.RoundTripper) (clients []*http.Client) {
			store := newStore(t) // in place of a shared one
			for range 5 {
				clients = append(clients, must(githubAfter(store, api)))
			}
			return clients
		}, 1, "hello"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := new(gitHub)
				var calls sync.WaitGroup
				for _, client := range c.clients(t, api) {
					calls.Go(func() {
						r := httptest.NewRequest(http.MethodPost, "https://api.github.com/repos/a/b/issues/1/labels", http.NoBody)
						r.RequestURI = ""
						r.Header.Set("Authorization", "Bearer token")
						r.Body, r.ContentLength = io.NopCloser(strings.NewReader("hello")), 5
						r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("hello")), nil }
						resp, err := client.Do(r)
						if err != nil {
							t.Error(err)
							return
						}
						_ = resp.Body.Close()
						if resp.StatusCode != http.StatusOK {
							t.Errorf("status %d", resp.StatusCode)
						}
					})
					synctest.Wait()
				}
				start := time.Now()
				calls.Wait()
				if api.refused != c.refused || len(api.bodies) != 5 {
					t.Errorf("%d calls were refused and %d admitted, want %d and 5", api.refused, len(api.bodies), c.refused)
				}
				for _, body := range api.bodies {
					if body != c.body {
						t.Errorf("body %q, want %q", body, c.body)
					}
				}
				if took := time.Since(start); took < time.Minute || took > 62*time.Second {
					t.Errorf("all took %v, want a minute", took)
				}
			})
		})
	}
}
