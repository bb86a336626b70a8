package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"regexp"
	"testing"
	"testing/synctest"

	"github.com/goweir/weir/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestDemo(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("testdata/demo.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := runDemo(&out); err != nil {
		t.Fatal(err)
	}
	// On a busy machine a second may pass between two answers.
	if got := regexp.MustCompile(`;t=\d+`).ReplaceAllString(out.String(), ";t=…"); got != string(want) {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
}

// TestThousandForgedHeaders writes another address into each request. That neither evades
// the limit nor locks another visitor out.
func TestThousandForgedHeaders(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"X-Forwarded-For", "Forwarded", "X-Real-IP"} {
		t.Run(header, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				app, err := newApp(netip.MustParsePrefix("10.0.0.0/8"))
				if err != nil {
					t.Fatal(err)
				}
				// get makes a request that the app sees from the proxy.
				get := func(visitor, forged string) int {
					r := httptest.NewRequest(http.MethodGet, "/hello", http.NoBody)
					r.RemoteAddr = "10.0.0.1:4711"
					if forged != "" {
						r.Header.Add(header, forged)
					}
					r.Header.Add("X-Forwarded-For", visitor)
					w := httptest.NewRecorder()
					app.ServeHTTP(w, r)
					return w.Code
				}
				served := 0
				for i := range 1000 {
					if get("203.0.113.7", fmt.Sprintf("198.51.%d.%d", i/256, i%256)) == http.StatusOK {
						served++
					}
				}
				if served != 2 {
					t.Errorf("%d requests were served, want 2", served)
				}
				for _, victim := range []string{"198.51.0.0", "198.51.3.231"} {
					if got := get(victim, ""); got != http.StatusOK {
						t.Errorf("the visitor from %s: %d", victim, got)
					}
				}
			})
		})
	}
}

func TestWrongPassword(t *testing.T) {
	t.Parallel()
	app, err := newApp()
	if err == nil || app != nil {
		t.Error("an app that trusts no proxy")
	}
	app, err = newApp(netip.MustParsePrefix("10.0.0.0/8"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ann", "nobody", ""} {
		r := httptest.NewRequest(http.MethodGet, "/feed", http.NoBody)
		r.SetBasicAuth(name, "")
		w := httptest.NewRecorder()
		app.ServeHTTP(w, r)
		if w.Code != http.StatusUnauthorized {
			t.Errorf("as %q: %d", name, w.Code)
		}
	}
}

// TestDemoInDocs checks that the demo prints the lines in docs/inbound.md.
func TestDemoInDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/inbound.md")
	if err != nil {
		t.Fatal(err)
	}
	printed, err := os.ReadFile("testdata/demo.txt")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`(?m)^  [0-9a-f.:]+ +GET /.*$`).FindAllString(string(page), -1)
	if len(shown) < 3 {
		t.Errorf("docs/inbound.md shows %d lines of the demo", len(shown))
	}
	for _, line := range shown {
		if line = regexp.MustCompile(`;t=\d+`).ReplaceAllString(line, ";t=…"); !bytes.Contains(printed, []byte(line+"\n")) {
			t.Errorf("docs/inbound.md shows a line that the demo does not print: %s", line)
		}
	}
}
