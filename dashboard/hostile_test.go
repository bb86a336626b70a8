package dashboard

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store/redisstore"
	"github.com/goweir/weir/upstream"
)

// TestHostileTexts: the page gets texts that are text, of a bounded length.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	f := newFleet(t, Config{ShowKeys: true})
	key := "</script>\u202e\x1b[2J\xff\n\u2028&\u200b"
	book(t, f.limiter, key, 20)
	must(t, f.client.Set(t.Context(), "weir:{%E2%80%AE%1B:x}", f.client.Get(t.Context(), "weir:{api:%3C/script%3E}").Val(), time.Hour).Err())
	long := strings.Repeat("\x1b", 1<<20)
	for _, e := range []weir.Event{
		{Kind: weir.EventStoreCall, Scope: "api", Err: &weir.StoreError{Op: "take", Err: errors.New(long)}},
		{Kind: weir.EventBudget, Scope: "api", Budget: &upstream.Budget{Name: long, Limit: 1, Remaining: 1}},
		{Kind: weir.EventPaused, Scope: "api", Key: long, By: "hand", Pause: time.Hour},
		{Kind: weir.EventDecision, Scope: "api", Key: long},
		{Kind: weir.EventWaitBegin, Scope: "api", Key: long},
	} {
		f.dash.Observe(t.Context(), e)
	}
	got := f.await(t, "the key", func(got *frame) bool { return len(got.Busy) == 1 })
	data := encode(got)
	if !json.Valid(data) || len(data) > 20_000 || strings.ContainsAny(string(data), "<>&\n") {
		t.Errorf("%d bytes: %s", len(data), data)
	}
	if row := got.Busy[0]; row.Key != "</script>\uFFFD\uFFFD[2J\uFFFD\uFFFD\uFFFD&\uFFFD" {
		t.Errorf("%q", row.Key)
	}
	texts := []string{got.Busy[0].Key, got.Busy[0].Limiter, got.Upstream[0].Budget}
	for _, row := range got.Log {
		texts = append(texts, row.Text)
	}
	for _, row := range got.Waiting {
		texts = append(texts, row.Key)
	}
	for _, text := range texts {
		if len(text) > maxShown+len("…") || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q", text)
		}
	}
	if n := len(f.dash.calls.copy(time.Now())); n != 0 {
		t.Errorf("%d keys of 1 MiB are kept", n)
	}
}

// TestErrorsHoldNoKey: servers quote the arguments of a command that they lack, and so a key.
func TestErrorsHoldNoKey(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--rename-command", "EVALSHA", "")
	c := server.Client(patient, redisstore.Configure)
	for _, show := range []bool{false, true} {
		d := newDashboard(t, Config{Client: c, ShowKeys: show, AllowChanges: true})
		if err := newLimiter(t, c, "api", perMinute, d.Observe).Reset(t.Context(), "jane"); err == nil || !strings.Contains(err.Error(), "unknown command") {
			t.Fatalf("the server answers %v", err)
		}
		d.Observe(t.Context(), weir.Event{Kind: weir.EventFallback, Scope: "redis", Err: errors.New("unknown command `get`, with args beginning with: `jane`")})
		must(t, c.Set(t.Context(), "weir:{api:jane}", "x", time.Hour).Err())
		id := idOf("api", "jane")
		got := stateOf(t, d)
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/change", strings.NewReader(`{"action":"reset","id":"`+id+`"}`))
		r.Header.Set("Content-Type", "application/json")
		d.ServeHTTP(w, r)
		if len(got.Log) != 2 || w.Code != 502 {
			t.Errorf("%d %s: %+v", w.Code, w.Body, got.Log)
		}
		for _, text := range []string{got.Log[0].Text, got.Log[1].Text, w.Body.String()} {
			// A store of another program may tell all that its server says.
			if strings.Contains(text, "jane") != (show && strings.Contains(text, "get")) || !strings.Contains(text, "unknown command") {
				t.Errorf("with ShowKeys %t: %s", show, text)
			}
		}
	}
}

// TestSingleRequestsReadRarely: many requests for the data cost no more than an open page.
func TestSingleRequestsReadRarely(t *testing.T) {
	t.Parallel()
	f := newFleet(t, Config{Interval: time.Minute})
	f.await(t, "the first reading", func(got *frame) bool { return got.Redis.Error == "" && got.Redis.Age >= 0 })
	reads := f.server.CommandsDuring(func() {
		for range 20 {
			if got := f.state(t); got.Redis.Error != "" || got.Redis.Age < 0 {
				t.Errorf("%+v", got.Redis)
			}
		}
	})
	if n := reads["scan"]; n > 1 {
		t.Errorf("20 requests made %d readings", n)
	}
}

// TestPathsWithTricks: no path leads to another site, and none leaves the page out.
func TestPathsWithTricks(t *testing.T) {
	t.Parallel()
	d := newDashboard(t, Config{})
	for name, test := range map[string]struct {
		uri, path string
		status    int
		location  string
	}{
		"the root":                  {"/", "", 200, ""},
		"a prefix with a slash":     {"/admin/weir/", "", 200, ""},
		"a prefix without a slash":  {"/admin/weir", "", 307, "./weir/"},
		"a query":                   {"/admin/weir?x=/", "", 307, "./weir/"},
		"another site as a prefix":  {"//evil.example", "", 307, "./evil.example/"},
		"a scheme as a prefix":      {"/javascript:alert(1)", "", 307, "./javascript:alert(1)/"},
		"a whole URL":               {"http://evil.example/weir", "", 307, "./weir/"},
		"nothing":                   {"", "", 307, "././"},
		"dots":                      {"/x/../state", "/x/../state", 200, ""},
		"two slashes":               {"//state", "//state", 200, ""},
		"an encoded slash":          {"/x%2Fstate", "/x/state", 200, ""},
		"a null":                    {"/state%00", "/state\x00", 404, ""},
		"a file":                    {"/page/live.js", "/page/live.js", 404, ""},
		"another case":              {"/STATE", "/STATE", 404, ""},
		"a change with two slashes": {"//change", "//change", 405, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
			r.RequestURI, r.URL.Path = test.uri, test.path
			w := httptest.NewRecorder()
			d.ServeHTTP(w, r)
			if w.Code != test.status || w.Header().Get("Location") != test.location {
				t.Errorf("%d, %q", w.Code, w.Header().Get("Location"))
			}
		})
	}
}
