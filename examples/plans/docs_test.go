package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/localstore"
)

// TestDocumentedHeaders checks the headers in docs/inbound.md in each style, for a served
// and a refused request.
func TestDocumentedHeaders(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/inbound.md")
	if err != nil {
		t.Fatal(err)
	}
	ticked := func(lines ...string) string { return "`" + strings.Join(lines, "`, `") + "`" }
	for name, want := range map[string]func(served, refused http.Header) []string{
		"draft11": func(served, refused http.Header) []string {
			return []string{
				"| `draft11` | " + ticked("Ratelimit: "+served.Get("RateLimit")) + " | " + ticked("Ratelimit: "+refused.Get("RateLimit")) + " |",
				"| | " + ticked("Ratelimit-Policy: "+served.Get("RateLimit-Policy")) + " | the same |",
			}
		},
		"draft6": func(served, refused http.Header) []string {
			return []string{
				"| `draft6` | " + triple("Ratelimit-", served, true) + " | " + triple("Ratelimit-", refused, false) + " |",
				"| | " + ticked("Ratelimit-Policy: "+served.Get("RateLimit-Policy")) + " | the same |",
			}
		},
		"x": func(served, refused http.Header) []string {
			return []string{"| `x` | " + triple("X-Ratelimit-", served, true) + " | " + triple("X-Ratelimit-", refused, false) + " |"}
		},
		"epoch": func(served, refused http.Header) []string {
			return []string{"with " + ticked("X-Ratelimit-Reset: "+served.Get("X-RateLimit-Reset")) + " | " + ticked(refused.Get("X-RateLimit-Reset")) + ","}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				served, refused := firstAndFourth(t, styles[name])
				if retry := refused.Get("Retry-After"); retry != "10" {
					t.Errorf("Retry-After: %s", retry)
				}
				for _, row := range want(served, refused) {
					if !strings.Contains(string(page), row) {
						t.Errorf("docs/inbound.md does not say\n%s", row)
					}
				}
			})
		})
	}
}

// triple returns the three headers of a family, or only their values.
func triple(family string, h http.Header, names bool) string {
	var all []string
	for _, name := range []string{family + "Limit", family + "Remaining", family + "Reset"} {
		text := h.Get(name)
		if names {
			text = name + ": " + text
		}
		all = append(all, "`"+text+"`")
	}
	return strings.Join(all, ", ")
}

func firstAndFourth(t *testing.T, style middleware.HeaderStyle) (first, fourth http.Header) {
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	a := someAccounts()
	service, err := newService(store, a, style)
	if err != nil {
		t.Fatal(err)
	}
	key := a.newKey("ann")
	var all []*httptest.ResponseRecorder
	for range 4 {
		all = append(all, call(service, "GET", "/hello", key))
	}
	if all[0].Code != http.StatusOK || all[3].Code != http.StatusTooManyRequests {
		t.Fatalf("answered %d, then %d", all[0].Code, all[3].Code)
	}
	return all[0].Header(), all[3].Header()
}
