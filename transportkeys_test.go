package weir_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/dialects"
	"github.com/goweir/weir/weirtest"
)

// endpoint is the name of a request's endpoint: the first part of its path.
func endpoint(r *http.Request) (string, error) {
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return name, nil
}

// TestPausesStayWithinTheirKey: a provider has 5 units in a minute for each tenant and
// endpoint, all on one host. Ann uses up her searches. The key says which requests are
// paused.
func TestPausesStayWithinTheirKey(t *testing.T) {
	t.Parallel()
	tenant := weir.KeyAPIKey("Authorization", nil)
	calls := []string{"ann /search", "ann /items", "bob /search", "bob /items"}
	for name, c := range map[string]struct {
		key    weir.KeyFunc
		paused []string
	}{
		"host":                      {weir.KeyHost(), calls},
		"host and token":            {weir.KeyJoin(weir.KeyHost(), tenant), calls[:2]},
		"host and endpoint":         {weir.KeyJoin(weir.KeyHost(), endpoint), []string{"ann /search", "bob /search"}},
		"host, token and endpoint":  {weir.KeyJoin(weir.KeyHost(), tenant, endpoint), calls[:1]},
		"one key for the whole API": {weir.KeyStatic("api"), calls},
	} {
		for how, limit := range map[string]weir.Limit{
			"nothing is left": weir.PerMinute(5),   // The fifth response says so.
			"refused":         weir.PerMinute(600), // The sixth is a 429.
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					cfg := weirtest.ProviderConfig{
						Limits: buckets(weir.PerMinute(5).By(weir.FixedWindow)),
						Key:    func(r *http.Request) string { return r.Header.Get("Authorization") + r.URL.Path },
					}
					searches := 6
					if how != "refused" {
						cfg.Hook, searches = dialects.XRateLimitDelta, 5
					}
					provider, err := weirtest.NewProvider(cfg)
					if err != nil {
						t.Fatal(err)
					}
					l := onLocal(t, weir.Config{Name: "api", Limits: buckets(limit)})
					tr := overLimiter(t, l, provider.Transport(), func(cfg *weir.TransportConfig) {
						cfg.Key, cfg.Refuse = c.key, true
					})
					get := func(call string) error {
						who, path, _ := strings.Cut(call, " ")
						req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.example.com"+path, nil)
						if err != nil {
							return err
						}
						req.Header.Set("Authorization", "Bearer "+who)
						resp, err := tr.RoundTrip(req)
						if err == nil {
							_ = resp.Body.Close()
						}
						return err
					}
					for range searches {
						if err := get(calls[0]); err != nil {
							t.Fatal(err)
						}
					}
					var paused []string
					for _, call := range calls {
						if err := get(call); err != nil && strings.Contains(err.Error(), "paused") {
							paused = append(paused, call)
						} else if err != nil {
							t.Error(call, err)
						}
					}
					if !slices.Equal(paused, c.paused) {
						t.Errorf("paused are %q, want %q", paused, c.paused)
					}
				})
			})
		}
	}
}

// TestAnotherResourcePausesNothing: a success with nothing left of searches leaves the
// rest of the host alone, through a whole Transport.
func TestAnotherResourcePausesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			said := headers("X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "4990", "X-RateLimit-Reset", "946688400", "X-RateLimit-Resource", "core")
			if r.URL.Path == "/search" {
				said = headers("X-RateLimit-Limit", "30", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "946684860", "X-RateLimit-Resource", "search")
			}
			return &http.Response{StatusCode: http.StatusOK, Header: said, Body: http.NoBody}, nil
		})
		l := onLocal(t, weir.Config{Name: "github", Limits: buckets(weir.PerHour(5000))})
		tr := overLimiter(t, l, base, func(cfg *weir.TransportConfig) { cfg.Refuse = true })
		for _, path := range []string{"/search", "/repos", "/search", "/repos"} {
			req := getRequest(t, t.Context())
			req.URL.Path = path
			if _, err := tr.RoundTrip(req); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	})
}

// TestUnderWayIsOfTheKey: 200 requests under way at one host say nothing of another's
// budget.
func TestUnderWayIsOfTheKey(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		busy string // the host that requests are under way at
		want time.Duration
	}{
		"no request":       {"", 6 * time.Second},
		"at another host":  {"other.example", 6 * time.Second},
		"at the same host": {"api.example", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				end := make(chan struct{})
				base := roundTripper(func(r *http.Request) (*http.Response, error) {
					said := headers("X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "10", "X-RateLimit-Reset", "60")
					if r.URL.Path == "/slow" {
						<-end
						said = nil
					}
					return &http.Response{StatusCode: http.StatusOK, Header: said, Body: http.NoBody}, nil
				})
				l := onLocal(t, weir.Config{Name: "api", Limits: buckets(weir.PerMinute(100))})
				tr := overLimiter(t, l, base, func(cfg *weir.TransportConfig) {
					cfg.Key = weir.KeyHost()
					cfg.Cost = func(r *http.Request) (int64, error) {
						if r.URL.Path == "/slow" {
							return 0, nil
						}
						return 1, nil
					}
				})
				get := func(host, path string) {
					req := getRequest(t, t.Context())
					req.URL.Host, req.URL.Path = host, path
					if _, err := tr.RoundTrip(req); err != nil {
						t.Error(err)
					}
				}
				var wg sync.WaitGroup
				for range 200 {
					if c.busy != "" {
						wg.Go(func() { get(c.busy, "/slow") })
					}
				}
				synctest.Wait()
				start := time.Now()
				for range 3 {
					get("api.example", "/")
				}
				if took := time.Since(start); took != c.want {
					t.Errorf("three requests took %v, want %v", took, c.want)
				}
				close(end)
				wg.Wait()
				if n := tr.UnderWay(); n != 0 {
					t.Errorf("%d are under way", n)
				}
			})
		})
	}
}

// TestUnderWayOfManyKeys is counted by key, however many there are.
func TestUnderWayOfManyKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		base := roundTripper(func(*http.Request) (*http.Response, error) {
			<-end
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
		})
		l := onLocal(t, weir.Config{Name: "api", Limits: buckets(weir.PerMinute(100))})
		tr := overLimiter(t, l, base, func(cfg *weir.TransportConfig) { cfg.Key = weir.KeyHost() })
		var wg sync.WaitGroup
		for i := range 3000 {
			wg.Go(func() {
				req := getRequest(t, t.Context())
				req.URL.Host = fmt.Sprint("host", i%1000)
				if _, err := tr.RoundTrip(req); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		all := tr.UnderWayByKey()
		for key, n := range all {
			if n != 3 {
				t.Errorf("%d requests of %s are under way, want 3", n, key)
			}
		}
		if len(all) != 1000 {
			t.Errorf("%d keys have requests under way, want 1000", len(all))
		}
		close(end)
		wg.Wait()
		if n := cmp.Or(tr.UnderWay(), int64(len(tr.UnderWayByKey()))); n != 0 {
			t.Errorf("%d are under way", n)
		}
	})
}
