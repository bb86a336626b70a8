package dashboard

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir"
)

func TestHandler(t *testing.T) {
	t.Parallel()
	d := newDashboard(t, Config{})
	for name, test := range map[string]struct {
		method, target string
		status         int
		header, want   string // a header and its beginning
	}{
		"the page":                 {"GET", "/", 200, "Content-Type", "text/html; charset=utf-8"},
		"the page below a prefix":  {"GET", "/admin/weir/", 200, "Content-Type", "text/html; charset=utf-8"},
		"its head":                 {"HEAD", "/admin/weir/", 200, "Content-Type", "text/html; charset=utf-8"},
		"the data":                 {"GET", "/admin/weir/state", 200, "Content-Type", "application/json"},
		"a page to keep":           {"GET", "/admin/weir/save", 200, "Content-Disposition", `attachment; filename="weir-`},
		"something else":           {"GET", "/admin/weir/favicon.ico", 404, "Content-Type", "text/plain"},
		"the page, posted":         {"POST", "/admin/weir/", 405, "Allow", "GET, HEAD"},
		"the data, posted":         {"POST", "/admin/weir/state", 405, "Allow", "GET, HEAD"},
		"a change, not posted":     {"GET", "/admin/weir/change", 405, "Allow", "POST"},
		"a change of a read-only":  {"POST", "/admin/weir/change", 403, "Content-Type", "text/plain"},
		"a prefix without a slash": {"GET", "", 307, "Location", "./weir/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), test.method, "/admin/weir?x=1", nil)
			r.URL.Path = test.target
			w := httptest.NewRecorder()
			d.ServeHTTP(w, r)
			if w.Code != test.status || !strings.HasPrefix(w.Header().Get(test.header), test.want) {
				t.Errorf("status %d, %s %q; want %d, %q", w.Code, test.header, w.Header().Get(test.header), test.status, test.want)
			}
			for header, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "X-Frame-Options": "DENY"} {
				if got := w.Header().Get(header); got != want {
					t.Errorf("%s: %q, want %q", header, got, want)
				}
			}
			if policy := w.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") {
				t.Errorf("Content-Security-Policy: %q", policy)
			}
		})
	}
}

func TestMountedInAServeMux(t *testing.T) {
	t.Parallel()
	d := newDashboard(t, Config{})
	mux := http.NewServeMux()
	mux.Handle("/admin/weir/", d)
	mux.Handle("/stripped/", http.StripPrefix("/stripped/", d))
	for _, path := range []string{"/admin/weir", "/admin/weir/", "/admin/weir/state", "/stripped/state", "/stripped/save"} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
		mux.ServeHTTP(w, r)
		if to := w.Header().Get("Location"); to != "" {
			w = httptest.NewRecorder()
			mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", to, nil))
		}
		if w.Code != 200 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	d := newDashboard(t, Config{})
	d.Close()
	d.Close()
	for path, want := range map[string]int{"/": 200, "/events": 503, "/state": 503, "/save": 503} {
		w := httptest.NewRecorder()
		d.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
}

// TestZeroDashboard: a Dashboard that New has not made has no data, and ends no program.
func TestZeroDashboard(t *testing.T) {
	t.Parallel()
	d := new(Dashboard)
	d.Observe(t.Context(), weir.Event{Kind: weir.EventDecision, Scope: "api", Key: "ann"})
	for path, want := range map[string]int{"/": 200, "/events": 503, "/state": 503, "/save": 503} {
		w := httptest.NewRecorder()
		d.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
	d.Close()
}

func TestConfig(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{})
	defer client.Close()
	for name, test := range map[string]struct {
		cfg  Config
		want string
	}{
		"zero":                  {Config{}, ""},
		"all":                   {Config{Client: client, Prefix: "app:", ShowKeys: true, AllowChanges: true, Interval: minInterval, MaxKeys: 1}, ""},
		"changes without Redis": {Config{AllowChanges: true}, "dashboard.Config.AllowChanges: want false without a Client, got true"},
		"too often":             {Config{Interval: minInterval - 1}, "dashboard.Config.Interval: want 0, or 250ms to 1m, got 249.999999ms"},
		"too rarely":            {Config{Interval: maxInterval + 1}, "dashboard.Config.Interval: want 0, or 250ms to 1m, got 1m0.000000001s"},
		"no keys":               {Config{MaxKeys: -1}, "dashboard.Config.MaxKeys: want 0 to 1000000, got -1"},
		"too many keys":         {Config{MaxKeys: maxMaxKeys + 1}, "dashboard.Config.MaxKeys: want 0 to 1000000, got 1000001"},
		"a nil client":          {Config{Client: (*redis.Client)(nil)}, "dashboard.Config.Client: want a go-redis client, got nil"},
		"a bad prefix":          {Config{Client: client, Prefix: "{"}, `dashboard.Config.Prefix: want at most 64 bytes of printable ASCII without braces, got "{"`},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := New(test.cfg)
			if got := text(err); !strings.Contains(got, test.want) || (test.want == "") != (err == nil) || (d == nil) != (err != nil) {
				t.Errorf("%v, %q, want %q", d, got, test.want)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// unflushable is a writer of a handler that gathers answers.
type unflushable struct{ http.ResponseWriter }

func TestEventsWithoutFlush(t *testing.T) {
	t.Parallel()
	d := newDashboard(t, Config{})
	w := httptest.NewRecorder()
	d.ServeHTTP(unflushable{w}, httptest.NewRequestWithContext(t.Context(), "GET", "/events", nil))
	if w.Code != 500 || !strings.Contains(w.Body.String(), "keeps it from flushing") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
