package weir_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/upstream"
)

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
			if got := slowed(t, 429, c.said, c.levels, &upstream.Reader{Bodies: true}); got != c.want {
				t.Errorf("slowed %q, want %q", got, c.want)
			}
		})
	}
}

// TestAmendNamesTheLimiter, whatever the response says.
func TestAmendNamesTheLimiter(t *testing.T) {
	t.Parallel()
	r := &upstream.Reader{Amend: func(resp *http.Response, s *upstream.Signal) { s.Cause.Limit = resp.Header.Get("X-Which") }}
	if got := slowed(t, 429, "X-Which: c\nRetry-After: 5\nRateLimit-Reason: jira-burst-based", "a b c d", r); got != "c 5s" {
		t.Errorf("slowed %q", got)
	}
}

// TestSuccessSlowsItsLimitersAlone: each budget reaches the limiter that has its name or
// its number, and no other.
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
