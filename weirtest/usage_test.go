package weirtest_test

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/weirtest"
)

func TestClientStaysWithinTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		provider, err := weirtest.NewProvider(weirtest.ProviderConfig{
			Limits: []weir.Limit{weir.Per(25, 5*time.Second).By(weir.SlidingWindow)},
		})
		if err != nil {
			t.Fatal(err)
		}
		client := newClient(t, provider.Transport()) // yours, with its limiter
		for range 200 {
			res, err := client.Get("https://api.example.com/v1/things")
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
		}
		if n := provider.Counts().Refused(); n > 0 {
			t.Errorf("%d requests were refused, want none", n)
		}
		if n := provider.MaxIn(5 * time.Second); n != 25 {
			t.Errorf("at most %d requests in 5 s, want all 25 that are allowed", n)
		}
	})
}

// newClient returns a client that holds to the provider's limit.
func newClient(tb testing.TB, base http.RoundTripper) *http.Client {
	tb.Helper()
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	limiter, err := weir.New(weir.Config{Name: "provider", Store: store, Limits: []weir.Limit{weir.Outbound(25, 5*time.Second)}})
	if err != nil {
		tb.Fatal(err)
	}
	transport, err := weir.NewTransport(weir.TransportConfig{Limiter: limiter, Key: weir.KeyHost(), Base: base})
	if err != nil {
		tb.Fatal(err)
	}
	return &http.Client{Transport: transport}
}

// A client without a limit fails the test in the package's documentation.
func TestClientWithoutALimitIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := provider(t, weirtest.ProviderConfig{Limits: []weir.Limit{weir.Per(25, 5*time.Second).By(weir.SlidingWindow)}})
		for range 200 {
			get(t, p.Transport(), "")
		}
		if n := p.Counts().Refused(); n != 175 {
			t.Errorf("%d requests were refused, want 175", n)
		}
		if n := p.MaxIn(5 * time.Second); n != 200 {
			t.Errorf("max %d, want 200", n)
		}
	})
}

// The test in the package's documentation is the one above.
func TestDocumentedTestIsTested(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile("usage_test.go")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile(`(?m)(^//\t.*\n)+`).FindString(string(doc))
	code = strings.ReplaceAll("\n"+code, "\n//\t", "\n")
	if strings.Count(code, "\n") < 10 || !strings.Contains(string(self), code) {
		t.Errorf("usage_test.go lacks what doc.go shows:\n%s", code)
	}
}
