package providers_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/examples/providers"
	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/store/localstore"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type maker func(store weir.Store, base http.RoundTripper) (*http.Client, error)

func gitHub(s weir.Store, b http.RoundTripper) (*http.Client, error) {
	return providers.GitHub(s, "t", b)
}

func openAI(s weir.Store, b http.RoundTripper) (*http.Client, error) {
	return providers.OpenAI(s, "t", 500, 30_000, b)
}

func anthropic(s weir.Store, b http.RoundTripper) (*http.Client, error) {
	return providers.Anthropic(s, "t", 50, 30_000, 8000, b)
}

func stripe(s weir.Store, b http.RoundTripper) (*http.Client, error) {
	return providers.Stripe(s, "t", b)
}

func shopify(s weir.Store, b http.RoundTripper) (*http.Client, error) {
	return providers.Shopify(s, "t", "shop.myshopify.com", b)
}

func shopifyGraphQL(s weir.Store, b http.RoundTripper) (*http.Client, error) {
	return providers.ShopifyGraphQL(s, "t", "shop.myshopify.com", b)
}

func slack(s weir.Store, b http.RoundTripper) (*http.Client, error) {
	return providers.Slack(s, "t", 50, b)
}

func jira(s weir.Store, b http.RoundTripper) (*http.Client, error) {
	return providers.Jira(s, "t", "site.atlassian.net", b)
}

func discord(s weir.Store, b http.RoundTripper) (*http.Client, error) {
	return providers.Discord(s, "t", b)
}

// TestClients refuses each client once. Then the refusing limiter, and no other, holds
// the next requests back.
func TestClients(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		client         maker
		url            string
		refusal        string // headers
		scope          string
		other          string // a URL that is not held back
		auth, authWant string
	}{
		"GitHub, search": {gitHub, "https://api.github.com/search/code", "X-RateLimit-Resource: search\nX-RateLimit-Limit: 30\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 30",
			"github/search", "https://api.github.com/user", "Authorization", "Bearer t"},
		"GitHub, core": {gitHub, "https://api.github.com/user", "X-RateLimit-Resource: core\nX-RateLimit-Limit: 5000\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 30",
			"github/core", "https://api.github.com/search/code", "Authorization", "Bearer t"},
		"GitHub, secondary": {gitHub, "https://api.github.com/user", "X-RateLimit-Resource: core\nX-RateLimit-Remaining: 9\nRetry-After: 30",
			"github/secondary", "", "Authorization", "Bearer t"},
		"OpenAI": {openAI, "https://api.openai.com/v1/responses", "x-ratelimit-remaining-tokens: 0\nx-ratelimit-limit-tokens: 30000\nx-ratelimit-reset-tokens: 30s",
			"openai/tokens", "", "Authorization", "Bearer t"},
		"Anthropic": {anthropic, "https://api.anthropic.com/v1/messages", "anthropic-ratelimit-output-tokens-remaining: 0\nanthropic-ratelimit-output-tokens-limit: 8000\nretry-after: 30",
			"anthropic/output-tokens", "", "X-Api-Key", "t"},
		"Stripe, endpoint": {stripe, "https://api.stripe.com/v1/charges/1", "Stripe-Rate-Limited-Reason: endpoint-rate\nRetry-After: 30",
			"stripe/endpoint-rate", "https://api.stripe.com/v1/refunds", "Authorization", "Bearer t"},
		"Stripe, global": {stripe, "https://api.stripe.com/v1/charges/1", "Stripe-Rate-Limited-Reason: global-rate\nRetry-After: 30",
			"stripe/global-rate", "", "Authorization", "Bearer t"},
		"Shopify": {shopify, "https://shop.myshopify.com/admin/api/orders.json", "X-Shopify-Shop-Api-Call-Limit: 40/40\nRetry-After: 30",
			"shopify-shop-api-call", "", "X-Shopify-Access-Token", "t"},
		"Shopify, GraphQL": {shopifyGraphQL, "https://shop.myshopify.com/admin/api/graphql.json", "Retry-After: 30",
			"shopify/points", "", "X-Shopify-Access-Token", "t"},
		"Slack": {slack, "https://slack.com/api/users.list", "Retry-After: 30", "slack/method", "https://slack.com/api/users.info", "Authorization", "Bearer t"},
		"Jira, burst": {jira, "https://site.atlassian.net/rest/api/3/search", "RateLimit-Reason: jira-burst-based\nRetry-After: 30",
			"jira/endpoint", "https://site.atlassian.net/rest/api/3/user", "Authorization", "Bearer t"},
		"Jira, global": {jira, "https://site.atlassian.net/rest/api/3/search", "RateLimit-Reason: jira-quota-global-based\nRetry-After: 30",
			"jira/global", "", "Authorization", "Bearer t"},
		"Discord, route": {discord, "https://discord.com/api/v10/channels/1/messages/2", "X-RateLimit-Scope: user\nRetry-After: 30",
			"discord/route", "https://discord.com/api/v10/channels/3/messages/2", "Authorization", "Bot t"},
		"Discord, global": {discord, "https://discord.com/api/v10/channels/1", "X-RateLimit-Scope: global\nRetry-After: 30",
			"discord/global", "", "Authorization", "Bot t"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent, auth := 0, ""
			client := newClient(t, c.client, func(r *http.Request) *http.Response {
				sent++
				auth = r.Header.Get(c.auth)
				resp := &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), Request: r}
				for line := range strings.Lines(c.refusal) {
					name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
					if sent == 1 {
						resp.StatusCode = http.StatusTooManyRequests
						resp.Header.Set(name, value)
					}
				}
				return resp
			})
			if err := get(t, client, c.url); err != nil || auth != c.authWant {
				t.Fatalf("%v, with the token %q", err, auth)
			}
			var limited *weir.LimitedError
			if err := get(t, client, c.url); !errors.As(err, &limited) || limited.Scope != c.scope {
				t.Errorf("then %v, want a refusal by %s", err, c.scope)
			}
			if c.other == "" {
				return
			}
			if err := get(t, client, c.other); err != nil {
				t.Errorf("another: %v", err)
			}
		})
	}
}

// TestTokenStaysWithItsHost follows a redirect to another host.
func TestTokenStaysWithItsHost(t *testing.T) {
	t.Parallel()
	seen := ""
	client := newClient(t, stripe, func(r *http.Request) *http.Response {
		seen += r.URL.Host + "=" + r.Header.Get("Authorization") + " "
		resp := &http.Response{StatusCode: 302, Header: http.Header{"Location": {"https://other.example/"}}, Body: http.NoBody, Request: r}
		if r.URL.Host == "other.example" {
			resp.StatusCode = 200
		}
		return resp
	})
	if err := get(t, client, "https://api.stripe.com/v1/charges"); err == nil || seen != "api.stripe.com=Bearer t " {
		t.Errorf("%v, sent %q", err, seen)
	}
}

// TestUsageSettles counts the tokens in the end of the body.
func TestUsageSettles(t *testing.T) {
	t.Parallel()
	client := newClient(t, openAI, func(r *http.Request) *http.Response {
		body := `{"usage": {"prompt_tokens": 9, "total_tokens": 12}}`
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}
	})
	// Estimates of 1001 each would not let 60 calls leave at once.
	for range 60 {
		if err := get(t, client, "https://api.openai.com/v1/responses"); err != nil {
			t.Fatal(err)
		}
	}
}

func newClient(t *testing.T, client maker, answer func(*http.Request) *http.Response) *http.Client {
	t.Helper()
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client(store, roundTrip(func(r *http.Request) (*http.Response, error) { return answer(r), nil }))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func get(t *testing.T, client *http.Client, url string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.Body.Close()
}
