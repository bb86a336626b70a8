package httpcases

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

var listCases = []testCase{
	{
		name: "listed keys pass unlimited or not at all",
		config: func(cfg *middleware.Config) {
			cfg.Lists = middleware.Lists{Allow: middleware.Keys("bob", "eve"), Block: middleware.Keys("eve", "mallory")}
		},
		steps: []step{
			{request: bob, want: unlimited},
			{request: bob, want: unlimited},
			{request: bob, want: unlimited},
			{request: request{user: "eve"}, want: forbidden},
			{request: request{user: "mallory"}, want: forbidden},
			{request: request{user: "Bob"}, want: first},
			{request: request{user: "bobby"}, want: first},
			{request: request{header: http.Header{"X-User": {"bob", "ann"}}}, want: ambiguous},
			{request: nobody, want: unidentified},
			{request: ann, want: first},
		},
	},
	{
		name: "a key of any length is listed as it is",
		config: func(cfg *middleware.Config) {
			cfg.Key = func(r *http.Request) (string, error) { return strings.Repeat(r.Header.Get("X-User"), 400), nil }
			cfg.Lists = middleware.Lists{Allow: middleware.Keys(strings.Repeat("bob", 400)), Block: middleware.Keys(strings.Repeat("eve", 400))}
		},
		steps: []step{
			{request: request{user: "eve"}, want: forbidden},
			{request: bob, want: unlimited},
			{request: ann, want: first},
			{request: ann, want: second},
			{request: ann, want: third},
			{request: request{user: "amy"}, want: first},
		},
	},
	{
		name: "the anonymous key can be blocked",
		config: func(cfg *middleware.Config) {
			cfg.OnNoKey = always(middleware.NoKey{Key: "(anonymous)"})
			cfg.Lists.Block = middleware.Keys("(anonymous)")
		},
		steps: []step{{request: nobody, want: forbidden}, {request: ann, want: first}},
	},
	{
		name: "shadow blocks no key",
		config: func(cfg *middleware.Config) {
			cfg.Shadow, cfg.Lists.Block = true, middleware.Keys("ann")
		},
		steps: one(unlimited),
	},
	{
		name: "lists work while the store is away",
		config: func(cfg *middleware.Config) {
			cfg.Lists = middleware.Lists{Allow: middleware.Keys("ann"), Block: middleware.Keys("bob")}
			cfg.OnStoreFailure = middleware.FailClosed
		},
		store: failing(errSecret),
		steps: []step{{request: ann, want: unlimited}, {request: bob, want: forbidden}},
	},
}

// browsers is a preflight as browsers send it.
var browsers = []string{"Origin: https://example.com", "Access-Control-Request-Method: PUT"}

// notBrowsers are header lines and bodies that no browser adds to a preflight. An
// empty line takes the place of the browser's.
var notBrowsers = []struct{ line, body string }{
	{"Origin:", ""},
	{"Access-Control-Request-Method:", ""},
	{"Authorization: Bearer x", ""},
	{"Cookie: session=x", ""},
	{"X-HTTP-Method-Override: DELETE", ""},
	{"X-Method-Override: DELETE", ""},
	{"X-HTTP-Method: DELETE", ""},
	{"Content-Length: 2", "{}"},
	{"Transfer-Encoding: chunked", "2\r\n{}\r\n0\r\n\r\n"},
	{"Transfer-Encoding: chunked", "0\r\n\r\n"},
	{"Origin: https://other.example", ""},
	{"Access-Control-Request-Method: GET", ""},
}

// testPreflights checks over a real connection how many of 500 requests that look
// like preflights pass a limit of 5.
func testPreflights(t *testing.T, mount Mount) {
	const limit, requests = 5, 500
	for _, tt := range []struct {
		name   string
		pass   bool
		forged bool
		want   int
	}{
		{"a browser's, counted", false, false, limit},
		{"forged, counted", false, true, limit},
		{"a browser's, passing", true, false, requests},
		{"forged, where a browser's pass", true, true, limit},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := middleware.Config{
				Limiter: NewLimiter(t, newStore(), weir.Per(limit, 24*time.Hour)), Key: weir.KeyRemoteIP(), PassPreflights: tt.pass,
			}
			srv := httptest.NewServer(mustMount(t, mount, cfg, http.HandlerFunc(handler)))
			t.Cleanup(srv.Close)
			c, passed := dial(t, srv), 0
			for n := range requests {
				lines, body := browsers, ""
				if tt.forged {
					forgery := notBrowsers[n%len(notBrowsers)]
					lines, body = append([]string{forgery.line}, browsers...), forgery.body
					if name, empty := strings.CutSuffix(forgery.line, ":"); empty {
						lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, name+": ") })
					}
				}
				if c.send(http.MethodOptions, body, lines...) == http.StatusOK {
					passed++
				}
			}
			if passed != tt.want {
				t.Errorf("%d of %d passed, want %d", passed, requests, tt.want)
			}
		})
	}
}
