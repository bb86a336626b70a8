package weir_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/dialects"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/upstream"
	"github.com/goweir/weir/weirtest"
)

// endpoint is the name of a request's endpoint: the first part of its path.
func endpoint(r *http.Request) (string, error) {
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return name, nil
}

// TestPausesStayWithinTheirKey: a provider has 5 units a minute for each tenant and
// endpoint, all on one host. Ann uses up her searches. That pauses the requests with the
// same key.
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

// TestUnderWayIsOfTheKey: 200 requests under way at one host say nothing about the budget
// of another.
func TestUnderWayIsOfTheKey(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		busy string // the host of the requests under way
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

// TestUnderWayOfManyKeys: requests under way are counted by key, for any number of keys.
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

// brakeStore records which limiters are slowed down.
type brakeStore struct {
	*localstore.Store
	mu   sync.Mutex
	said []string
}

func (s *brakeStore) Brake(ctx context.Context, charges []store.Charge, b store.Brake) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	how := " spaced"
	switch {
	case b.Pause > 0:
		how = fmt.Sprint(" ", b.Pause.Round(time.Second))
	case b.Cut != (store.Cut{}):
		how = " cut"
	}
	s.said = append(s.said, charges[0].Scope+how)
	return s.Store.Brake(ctx, charges, b)
}

// slowed returns the limiters that a response slows down, each with its effect. The
// levels are names of limiters, narrowest first; a number after an equals sign is the
// limit's units a minute.
func slowed(t *testing.T, status int, said, levels string, reader *upstream.Reader) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		body := ""
		for line := range strings.Lines(said) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && !strings.HasPrefix(name, "{") {
				w.Header().Add(name, value)
			} else {
				body += line
			}
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	defer srv.Close()
	local, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := &brakeStore{Store: local}
	var all []weir.TransportLevel
	for i, level := range strings.Fields(levels) {
		name, units := level, int64(1234+1000*i)
		if before, after, ok := strings.Cut(level, "="); ok {
			name = before
			_, _ = fmt.Sscan(after, &units)
		}
		l, err := weir.New(weir.Config{Name: name, Store: s, Limits: buckets(weir.PerMinute(units))})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, weir.TransportLevel{Limiter: l, Key: weir.KeyStatic("key")})
		if strings.Contains(name, "tokens") || strings.Contains(name, "tpm") {
			all[i].Cost = func(*http.Request) (int64, error) { return 10, nil }
		}
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	defer base.CloseIdleConnections()
	tr, err := weir.NewTransport(weir.TransportConfig{Limiter: all[0].Limiter, Key: all[0].Key, Cost: all[0].Cost, Levels: all[1:], Base: base, Upstream: reader})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: tr}).Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	for _, l := range all {
		for deadline := time.Now().Add(10 * time.Second); l.Limiter.Laters() > 0 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.said)
	return strings.Join(s.said, ", ")
}

// TestRefusalSlowsTheLimiterThatRefused, and no other.
func TestRefusalSlowsTheLimiterThatRefused(t *testing.T) {
	t.Parallel()
	const (
		jira   = "issue endpoint tenant quota"
		stripe = "endpoint account"
		named  = "global-rate x/endpoint-rate resource-specific"
	)
	for name, c := range map[string]struct{ levels, said, want string }{
		"Jira: global":                  {jira, "RateLimit-Reason: jira-quota-global-based\nRetry-After: 600", "quota 10m0s"},
		"Jira: tenant":                  {jira, "RateLimit-Reason: jira-quota-tenant-based\nRetry-After: 600", "tenant 10m0s"},
		"Jira: burst":                   {jira, "RateLimit-Reason: jira-burst-based\nRetry-After: 2", "endpoint 2s"},
		"Jira: issue":                   {jira, "RateLimit-Reason: jira-per-issue-on-write\nRetry-After: 2", "issue 2s"},
		"Jira: global, two levels":      {"a b", "RateLimit-Reason: jira-quota-global-based\nRetry-After: 600", "b 10m0s"},
		"Jira: tenant, two levels":      {"a b", "RateLimit-Reason: jira-quota-tenant-based\nRetry-After: 600", "b 10m0s"},
		"Jira: tenant, three levels":    {"a b c", "RateLimit-Reason: jira-quota-tenant-based\nRetry-After: 600", "b 10m0s"},
		"Jira: burst, two levels":       {"a b", "RateLimit-Reason: jira-burst-based\nRetry-After: 600", "a 10m0s"},
		"Jira: one level":               {"a", "RateLimit-Reason: jira-quota-tenant-based\nRetry-After: 600", "a 10m0s"},
		"Jira: global, a burst's count": {"a=100 b", "RateLimit-Reason: jira-quota-global-based\nRetry-After: 9\nX-RateLimit-Limit: 100\nX-RateLimit-Remaining: 90", "b 9s"},
		"Jira: a name of ours":          {"my/jira-burst-based x", "RateLimit-Reason: jira-burst-based\nRetry-After: 9", "my/jira-burst-based 9s"},

		"Stripe: global-rate":                {stripe, "Stripe-Rate-Limited-Reason: global-rate", "account cut"},
		"Stripe: endpoint-rate":              {stripe, "Stripe-Rate-Limited-Reason: endpoint-rate", "endpoint cut"},
		"Stripe: resource-specific":          {stripe, "Stripe-Rate-Limited-Reason: resource-specific", "endpoint cut"},
		"Stripe: global-concurrency":         {stripe, "Stripe-Rate-Limited-Reason: global-concurrency", ""},
		"Stripe: endpoint-concurrency":       {stripe, "Stripe-Rate-Limited-Reason: endpoint-concurrency\nRetry-After: 5", ""},
		"Stripe: by name, global-rate":       {named, "Stripe-Rate-Limited-Reason: Global-Rate", "global-rate cut"},
		"Stripe: by name, endpoint-rate":     {named, "Stripe-Rate-Limited-Reason: endpoint-rate", "x/endpoint-rate cut"},
		"Stripe: by name, resource-specific": {named, "Stripe-Rate-Limited-Reason: resource-specific", "resource-specific cut"},
		"Stripe: a lock":                     {stripe, `{"error": {"code": "lock_timeout"}}`, ""},

		"Discord: user":   {"route global", "X-RateLimit-Scope: user\nX-RateLimit-Limit: 50\nX-RateLimit-Remaining: 0\nRetry-After: 7", "route 7s"},
		"Discord: shared": {"route global", "X-RateLimit-Scope: shared\nRetry-After: 7", "route 7s"},
		"Discord: global": {"route all", "X-RateLimit-Scope: global\nX-RateLimit-Global: true\nRetry-After: 7", "all 7s"},

		"GitHub: search":    {"github/search github/core", "X-RateLimit-Resource: search\nX-RateLimit-Limit: 30\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 9", "github/search 9s"},
		"GitHub: core":      {"github/search github/core", "X-RateLimit-Resource: core\nX-RateLimit-Limit: 5000\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 9", "github/core 9s"},
		"GitHub: graphql":   {"core graphql", "X-RateLimit-Resource: graphql\nX-RateLimit-Remaining: 0\nX-RateLimit-Limit: 1234\nX-RateLimit-Reset: 9", "graphql 9s"},
		"GitHub: secondary": {"core secondary", "X-RateLimit-Resource: core\nX-RateLimit-Limit: 5000\nX-RateLimit-Remaining: 9\nRetry-After: 9", "secondary 9s"},

		"OpenAI: tokens, both used up": {"requests tokens", "x-ratelimit-remaining-requests: 0\nx-ratelimit-limit-requests: 60\nx-ratelimit-reset-requests: 5s\n" +
			"x-ratelimit-remaining-tokens: 0\nx-ratelimit-limit-tokens: 900\nx-ratelimit-reset-tokens: 9s", "requests 5s, tokens 9s"},
		"Gemini: the body":       {"a b", `{"error": {"details": [{"retryDelay": "13s"}]}}`, "a 13s"},
		"OpenAI: the body":       {"requests tokens", `{"error": {"message": "try again in 9s.", "type": "tokens"}}`, "tokens 9s"},
		"nothing":                {"a b", "", "a cut"},
		"informational":          {"a b", "Beta-RateLimit: \"b\";r=0;t=9\nRetry-After: 5", "a 5s"},
		"two levels of one word": {"input-tokens tokens", "x-ratelimit-remaining-tokens: 0\nRetry-After: 5", "tokens 5s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // A busy machine would let Peek's time pass.
				if got := slowed(t, 429, c.said, c.levels, &upstream.Reader{Bodies: true}); got != c.want {
					t.Errorf("slowed %q, want %q", got, c.want)
				}
			})
		})
	}
}

// TestRefusalUnderAnotherStatus than 429 slows a limiter down too, if it says enough.
func TestRefusalUnderAnotherStatus(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status     int
		said, want string
	}{
		"Amazon: the header":     {400, "X-Amzn-Errortype: ThrottlingException", "a cut"},
		"Amazon: another header": {400, "X-Amzn-Errortype: ValidationException", ""},
		"Amazon: the body":       {400, `{"__type": "com.amazonaws.x#ThrottlingException"}`, "a cut"},
		"Amazon: another body":   {400, `{"__type": "com.amazonaws.x#ValidationException"}`, ""},
		"S3: slow down":          {503, "<Code>SlowDown</Code>", "a cut"},
		"S3: away":               {503, "<Code>InternalError</Code>", ""},
		"EVE Online":             {420, "X-Esi-Error-Limit-Remain: 0\nX-Esi-Error-Limit-Reset: 12", "a 12s"},
		"a success":              {200, "X-Amzn-Errortype: ThrottlingException", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if got := slowed(t, c.status, c.said, "a b", &upstream.Reader{Bodies: true}); got != c.want {
					t.Errorf("slowed %q, want %q", got, c.want)
				}
			})
		})
	}
}

// TestAmendNamesTheLimiter: Amend replaces the response's own cause.
func TestAmendNamesTheLimiter(t *testing.T) {
	t.Parallel()
	r := &upstream.Reader{Amend: func(resp *http.Response, s *upstream.Signal) { s.Cause.Limit = resp.Header.Get("X-Which") }}
	if got := slowed(t, 429, "X-Which: c\nRetry-After: 5\nRateLimit-Reason: jira-burst-based", "a b c d", r); got != "c 5s" {
		t.Errorf("slowed %q", got)
	}
}

// TestSuccessSlowsItsLimitersAlone: each budget reaches the limiter with its name or its
// number of units, and no other.
func TestSuccessSlowsItsLimitersAlone(t *testing.T) {
	t.Parallel()
	anthropic := func(requests, input, output string) string {
		var all strings.Builder
		for _, b := range [][3]string{{"requests", "50", requests}, {"input-tokens", "30000", input}, {"output-tokens", "8000", output}, {"tokens", "38000", "5000"}} {
			fmt.Fprintf(&all, "anthropic-ratelimit-%s-limit: %s\nanthropic-ratelimit-%[1]s-remaining: %[3]s\nanthropic-ratelimit-%[1]s-reset: 30s\n", b[0], b[1], b[2])
		}
		return all.String()
	}
	const byName, byNumber = "a/requests=50 a/input-tokens a/output-tokens", "rpm=50 itpm=30000 otpm=8000"
	for name, c := range map[string]struct{ levels, said, want string }{
		"output":                      {byName, anthropic("49", "29000", "0"), "a/output-tokens 30s"},
		"output, by number":           {byNumber, anthropic("49", "29000", "0"), "otpm 30s"},
		"input and output":            {byName, anthropic("49", "0", "0"), "a/input-tokens 30s, a/output-tokens 30s"},
		"input and output, by number": {byNumber, anthropic("49", "0", "0"), "itpm 30s, otpm 30s"},
		"all":                         {byNumber, anthropic("0", "0", "0"), "itpm 30s, otpm 30s, rpm 30s"},
		"none":                        {"rpm=50 itpm=30000", anthropic("49", "29000", "0"), ""},
		"a resource":                  {"search core=30", "X-RateLimit-Resource: search\nX-RateLimit-Limit: 30\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 9", "search 9s"},
		"another resource":            {"core=5000", "X-RateLimit-Resource: search\nX-RateLimit-Limit: 30\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 9", ""},
		"informational":               {"points b", "Beta-RateLimit-Policy: \"points\";q=1234;w=60\nBeta-RateLimit: \"points\";r=0;t=40", ""},
		"informational, no name":      {"points b", "Beta-RateLimit: limit=1234, remaining=0, reset=40", ""},
		"the draft after 11":          {"a b", "RateLimit-Policy: \"b\";q=9;w=60\nRateLimit: \"b\";a=0;w=40", "b 40s"},
		"a reason alone":              {"a b", "RateLimit-Reason: jira-quota-global-based", ""},
		"longer than a Reader allows": {byNumber, strings.ReplaceAll(anthropic("49", "0", "0"), "30s", "70s"), "itpm 1m0s, otpm 1m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := slowed(t, 200, c.said, c.levels, &upstream.Reader{MaxPause: time.Minute}); got != c.want {
				t.Errorf("slowed %q, want %q", got, c.want)
			}
		})
	}
}
