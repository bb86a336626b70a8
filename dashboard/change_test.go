package dashboard

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
)

// post posts a change with some headers.
func post(t *testing.T, d *Dashboard, body string, headers ...string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "POST", "https://example.com/weir/change", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Code, strings.TrimSpace(w.Body.String())
}

func TestChange(t *testing.T) {
	t.Parallel()
	f := newFleet(t, Config{AllowChanges: true})
	ctx := t.Context()
	book(t, f.limiter, "user:1", 50)
	f.await(t, "the key", func(got *frame) bool { return len(got.Busy) == 1 })
	id := idOf("api", "user:1")

	allowed := func(want bool, reason weir.Reason) {
		t.Helper()
		d, err := f.limiter.Allow(ctx, "user:1")
		if err != nil || d.Allowed != want || d.Reason != reason {
			t.Errorf("another process's call: %+v, %v", d, err)
		}
	}
	change := func(body string) {
		t.Helper()
		if status, answer := post(t, f.dash, body, "Sec-Fetch-Site", "same-origin"); status != 204 {
			t.Fatalf("%s: %d %s", body, status, answer)
		}
	}
	change(`{"action": "pause", "id": "` + id + `", "seconds": 60}`)
	allowed(false, weir.ReasonPaused)
	got := f.await(t, "the pause", func(got *frame) bool { return got.Redis.PausedKeys == 1 })
	if row := got.Slowed[0]; row.Limiter != "api" || row.Key != "abc3a47b8a" || row.Pause < 50_000 || row.Pause > 60_000 || row.Rate != 64 {
		t.Errorf("%+v", row)
	}
	change(`{"action": "resume", "id": "` + id + `"}`)
	allowed(false, weir.ReasonLimited)
	f.await(t, "the end of the pause", func(got *frame) bool { return got.Redis.PausedKeys == 0 })
	change(`{"action": "reset", "id": "` + id + `"}`)
	allowed(true, weir.ReasonAllowed)
}

// TestResumeAKeyWithoutLimits resumes a key with a brake alone.
func TestResumeAKeyWithoutLimits(t *testing.T) {
	t.Parallel()
	f := newFleet(t, Config{AllowChanges: true})
	if err := f.limiter.Pause(t.Context(), "new", time.Hour); err != nil {
		t.Fatal(err)
	}
	got := f.await(t, "the pause", func(got *frame) bool { return got.Redis.PausedKeys == 1 })
	if status, answer := post(t, f.dash, `{"action": "resume", "id": "`+got.Slowed[0].ID+`"}`); status != 204 {
		t.Fatal(status, answer)
	}
	if d, err := f.limiter.Allow(t.Context(), "new"); err != nil || !d.Allowed {
		t.Error(d, err)
	}
}

func TestChangeIsRefused(t *testing.T) {
	t.Parallel()
	f := newFleet(t, Config{AllowChanges: true})
	book(t, f.limiter, "user:1", 20)
	f.await(t, "the key", func(got *frame) bool { return len(got.Busy) == 1 })
	good := `{"action": "reset", "id": "` + idOf("api", "user:1") + `"}`
	readOnly := newDashboard(t, Config{Client: f.client})
	closedRedis := newDashboard(t, Config{Client: f.client, AllowChanges: true})
	for name, test := range map[string]struct {
		dash    *Dashboard
		body    string
		headers []string
		status  int
		answer  string
	}{
		"read-only":            {readOnly, good, nil, 403, "the dashboard is read-only: Config.AllowChanges is false"},
		"another site":         {f.dash, good, []string{"Sec-Fetch-Site", "cross-site"}, 403, "the request comes from another site"},
		"a sister site":        {f.dash, good, []string{"Sec-Fetch-Site", "same-site"}, 403, "the request comes from another site"},
		"an old browser":       {f.dash, good, []string{"Origin", "https://evil.example"}, 403, "the request comes from another site"},
		"no origin":            {f.dash, good, []string{"Origin", "null"}, 403, "the request comes from another site"},
		"a form":               {f.dash, good, []string{"Content-Type", "text/plain"}, 415, "Content-Type: want application/json"},
		"no JSON":              {f.dash, "{", nil, 400, "the body is no change: unexpected EOF"},
		"too long":             {f.dash, `{"id": "` + strings.Repeat("x", maxChange) + `"}`, nil, 400, "the body is no change: http: request body too large"},
		"an unknown field":     {f.dash, `{"key": "x"}`, nil, 400, `the body is no change: json: unknown field "key"`},
		"an unknown action":    {f.dash, `{"action": "drop"}`, nil, 400, `action: want pause, resume or reset, got "drop"`},
		"a pause without time": {f.dash, `{"action": "pause"}`, nil, 400, "seconds: want 0.001 to 86400, got 0"},
		"a pause of years":     {f.dash, `{"action": "pause", "seconds": 1e9}`, nil, 400, "seconds: want 0.001 to 86400, got 1e+09"},
		"a pause of a moment":  {f.dash, `{"action": "pause", "seconds": 1e-9}`, nil, 400, "seconds: want 0.001 to 86400, got 1e-09"},
		"two changes":          {f.dash, `{"action": "resume"}{"action": "reset"}`, nil, 400, "the body is no change: there is more than one"},
		"a reset with time":    {f.dash, `{"action": "reset", "seconds": 1}`, nil, 400, "seconds: want none with reset, got 1"},
		"an unknown key":       {f.dash, `{"action": "reset", "id": "x"}`, nil, 404, "the page knows no such key any more"},
		"before a reading":     {closedRedis, good, nil, 404, "the page knows no such key any more"},
	} {
		t.Run(name, func(t *testing.T) {
			if status, answer := post(t, test.dash, test.body, test.headers...); status != test.status || answer != test.answer {
				t.Errorf("%d %q, want %d %q", status, answer, test.status, test.answer)
			}
		})
	}
	if got := f.client.Exists(t.Context(), "weir:{api:user:1}").Val(); got != 1 {
		t.Error("the key was reset")
	}
	// The page's own origin may change keys, and so may a program without an origin.
	for _, headers := range [][]string{{"Origin", "https://example.com"}, {"Sec-Fetch-Site", "none"}, {}} {
		if status, answer := post(t, f.dash, good, headers...); status != 204 {
			t.Errorf("%v: %d %s", headers, status, answer)
		}
	}
	f.server.Kill()
	if status, answer := post(t, f.dash, good); status != 502 || !strings.HasPrefix(answer, "Redis did not do it: ") {
		t.Errorf("without Redis: %d %s", status, answer)
	}
}

func TestALongNameCannotBeChanged(t *testing.T) {
	t.Parallel()
	f := newFleet(t, Config{AllowChanges: true})
	book(t, f.limiter, strings.Repeat("x", 200), 20)
	got := f.await(t, "the key", func(got *frame) bool { return len(got.Busy) == 1 })
	if row := got.Busy[0]; row.Limiter != "(long name)" {
		t.Errorf("%+v", row)
	}
	if status, answer := post(t, f.dash, `{"action": "reset", "id": "`+got.Busy[0].ID+`"}`); status != 404 || !strings.Contains(answer, "a hash in place of its long name") {
		t.Errorf("%d %s", status, answer)
	}
}
