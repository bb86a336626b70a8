package middleware_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/middleware"
)

// TestContextDoesNotShowTheRequest: contexts end up in logs.
func TestContextDoesNotShowTheRequest(t *testing.T) {
	t.Parallel()
	limiter, err := weir.New(weir.Config{Name: "api", Store: httpcases.NewCounting(), Limits: []weir.Limit{weir.PerHour(10)}})
	if err != nil {
		t.Fatal(err)
	}
	mount, err := middleware.New(middleware.Config{Limiter: limiter, Key: weir.KeyStatic("k")})
	if err != nil {
		t.Fatal(err)
	}
	served := false
	h := mount(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		served = true
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			text := fmt.Sprintf(verb, r.Context())
			if strings.Contains(text, "secret") || !strings.Contains(text, "weir") {
				t.Errorf("%s: %s", verb, text)
			}
		}
	}))
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Authorization", "Bearer secret")
	h.ServeHTTP(httptest.NewRecorder(), r)
	if !served {
		t.Error("the handler was not reached")
	}
}
