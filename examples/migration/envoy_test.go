package migration

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/goweir/weir"
	"github.com/goweir/weir/limitfile"
)

// TestEnvoyFiles checks that both files have the same limits for the same users.
func TestEnvoyFiles(t *testing.T) {
	t.Parallel()
	var before struct {
		Descriptors []struct {
			Key, Value string
			RateLimit  struct {
				Unit            string
				RequestsPerUnit int64 `yaml:"requests_per_unit"`
			} `yaml:"rate_limit"`
		}
	}
	if err := yaml.Unmarshal([]byte(envoyBefore), &before); err != nil {
		t.Fatal(err)
	}
	after, err := limitfile.Parse("limits.yaml", []byte(envoyAfter))
	if err != nil {
		t.Fatal(err)
	}
	units := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour}
	if len(before.Descriptors) != 2 {
		t.Fatalf("%d descriptors, want 2", len(before.Descriptors))
	}
	for _, d := range before.Descriptors {
		want := weir.Per(d.RateLimit.RequestsPerUnit, units[d.RateLimit.Unit]).By(weir.AlignedWindow)
		if got := after.For(d.Value, ""); len(got) != 1 || got[0].WithName("") != want {
			t.Errorf("user %q: %+v, want %+v", d.Value, got, want)
		}
	}
}

func TestEnvoyMiddleware(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "limits.yaml")
	if err := os.WriteFile(path, []byte(envoyAfter), 0o600); err != nil {
		t.Fatal(err)
	}
	limits, err := limitfile.Open(limitfile.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer limits.Close()
	h := must(envoyMiddleware(newStore(t), limits, userOf))(http.HandlerFunc(ok))
	for user, want := range map[string]string{"ann": `"100-in-1m";q=100;w=60`, "acme": `"50000-in-1h";q=50000;w=3600`} {
		r := get(0)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, user)))
		if got := w.Header().Get("RateLimit-Policy"); w.Code != http.StatusOK || got != want {
			t.Errorf("%s: %d %s, want %s", user, w.Code, got, want)
		}
	}
}
