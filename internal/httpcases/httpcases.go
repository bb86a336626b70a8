// Package httpcases holds what every mount of the middleware must do alike: one
// table that net/http, gin and echo all run, and gRPC where it makes sense.
package httpcases

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// Mount returns what serves all methods and paths with h behind the middleware.
type Mount func(cfg middleware.Config, h http.Handler) (http.Handler, error)

// table is every case that is a configuration and its answers.
var table = [][]testCase{
	identityCases, headerCases, xHeaderCases, otherHeaderCases, refusalCases, failureCases, requestCases, planCases,
	listCases, settleCases, delayCases, penaltyCases, levelCases, unknownCases,
}

// Run runs every case.
func Run(t *testing.T, mount Mount) {
	RunOn(t, mount, func(testing.TB) weir.Store { return newStore() })
	t.Run("a panic is a failure", func(t *testing.T) { testPanic(t, mount) })
	t.Run("what an aborted answer sent counts", func(t *testing.T) { testAborted(t, mount) })
	t.Run("a panic keeps no upload", func(t *testing.T) { testPanickedUpload(t, mount) })
	t.Run("shadows", func(t *testing.T) { testShadows(t, mount) })
	t.Run("never identified", func(t *testing.T) { testNeverIdentified(t, mount) })
	t.Run("slow", func(t *testing.T) { testSlow(t, mount) })
	t.Run("forged", func(t *testing.T) { testForged(t, mount) })
	t.Run("levels", func(t *testing.T) { testLevels(t, mount) })
	t.Run("mounted twice", func(t *testing.T) { testTwice(t, mount) })
	t.Run("server", func(t *testing.T) { testServer(t, mount) })
}

// RunOn runs the cases on stores that open returns, each of them empty and by
// the clock of the testing/synctest bubble that it is called in. What it leaves
// to Run does not depend on the store, or brings one of its own.
func RunOn(t *testing.T, mount Mount, open func(testing.TB) weir.Store) {
	for _, cases := range table {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { c.run(t, mount, open) })
			})
		}
	}
	t.Run("unknown", func(t *testing.T) { testUnknown(t, mount, open) })
	t.Run("charged while served", func(t *testing.T) { testCharging(t, mount, open) })
	t.Run("max waiting", func(t *testing.T) { testMaxWaiting(t, mount, open) })
}

// testCase is a configuration and what requests to it get, one after another.
type testCase struct {
	name   string
	limits []weir.Limit                                     // nil: 2 per minute
	store  func() weir.Store                                // nil: what open returns
	config func(*middleware.Config)                         // nil: the limiter, and KeyHeader("X-User")
	more   func(testing.TB, weir.Store, *middleware.Config) // what needs the store
	steps  []step
}

type step struct {
	after   time.Duration // sleep before
	takes   time.Duration // how long it is under way
	request request
	want    answer
}

// request is a GET by a user unless it says otherwise.
type request struct {
	method string
	user   string
	header http.Header
	remote string
	ctx    func(context.Context) (context.Context, context.CancelFunc)
}

func (q request) build(t *testing.T) *http.Request {
	r := httptest.NewRequestWithContext(t.Context(), q.method, "/things/7?page=2", http.NoBody)
	if q.method == "" {
		r.Method = http.MethodGet
	}
	if q.user != "" {
		r.Header.Set("X-User", q.user)
	}
	for name, values := range q.header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	if q.remote != "" {
		r.RemoteAddr = q.remote
	}
	return r
}

// answer is a response. The watched headers that it does not name are absent.
type answer struct {
	status int
	header map[string]string
	body   string
}

var watched = []string{
	"RateLimit-Policy", "RateLimit", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
	"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After",
	"Content-Type", "Content-Length", "Cache-Control", "WWW-Authenticate", "Access-Control-Expose-Headers",
}

const servedBody = "served"

// served is what a request gets that reached the handler.
func served(header map[string]string) answer {
	return answer{http.StatusOK, with(header, "Content-Type", "text/plain"), servedBody}
}

// problem is what a refused request gets.
func problem(status int, body string, header map[string]string) answer {
	header = with(header, "Content-Type", "application/problem+json")
	header = with(header, "Cache-Control", "no-store")
	return answer{status, with(header, "Content-Length", strconv.Itoa(len(body))), body}
}

// blank is the body of a problem that has no type of its own.
func blank(status int, detail string) string {
	return `{"type":"about:blank","title":"` + http.StatusText(status) + `","status":` + strconv.Itoa(status) +
		`,"detail":"` + detail + `"}` + "\n"
}

// reduced is the body of a refusal that is not for what was used.
func reduced(policies string, more ...string) string {
	return `{"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",` +
		`"title":"Request cannot be satisfied due to temporary server capacity constraints","status":429` +
		strings.Join(more, "") + `,"violated-policies":[` + policies + `]}` + "\n"
}

// exceeded is the body of a refusal; more are members written in between.
func exceeded(policies string, more ...string) string {
	return `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",` +
		`"title":"Request cannot be satisfied as assigned quota has been exceeded","status":429` +
		strings.Join(more, "") + `,"violated-policies":[` + policies + `]}` + "\n"
}

func with(header map[string]string, name, value string) map[string]string {
	header = maps.Clone(header)
	if header == nil {
		header = map[string]string{}
	}
	header[name] = value
	return header
}

// handler serves what X-Status asks for, 200 without.
func handler(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	if status, err := strconv.Atoi(r.Header.Get("X-Status")); err == nil {
		w.WriteHeader(status)
	}
	_, _ = io.WriteString(w, servedBody)
}

func (c testCase) run(t *testing.T, mount Mount, open func(testing.TB) weir.Store) {
	cfg := c.build(t, open)
	calls := 0
	h := mustMount(t, mount, cfg, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		handler(w, r)
	}))
	for i, s := range c.steps {
		time.Sleep(s.after)
		before, start := calls, time.Now()
		got := do(t, h, s.request)
		if took := time.Since(start); took != s.takes {
			t.Errorf("step %d: took %v, want %v", i, took, s.takes)
		}
		compare(t, i, got, s.want)
		if reached := calls > before; reached != (s.want.body == servedBody) {
			t.Errorf("step %d: handler reached: %t", i, reached)
		}
	}
}

func do(t *testing.T, h http.Handler, q request) answer {
	t.Helper()
	r := q.build(t)
	if q.ctx != nil {
		ctx, cancel := q.ctx(r.Context())
		defer cancel()
		r = r.WithContext(ctx)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	got := answer{status: w.Code, header: map[string]string{}, body: w.Body.String()}
	for _, name := range watched {
		if values := w.Header().Values(name); len(values) > 0 {
			got.header[name] = strings.Join(values, " & ")
		}
	}
	return got
}

func compare(t *testing.T, i int, got, want answer) {
	t.Helper()
	if got.status != want.status {
		t.Errorf("step %d: status %d, want %d", i, got.status, want.status)
	}
	for _, name := range watched {
		if got.header[name] != want.header[name] {
			t.Errorf("step %d: %s: %q, want %q", i, name, got.header[name], want.header[name])
		}
	}
	if got.body != want.body {
		t.Errorf("step %d: body\n%s want\n%s", i, got.body, want.body)
	}
	for name := range want.header {
		if !slices.Contains(watched, name) {
			t.Fatalf("step %d: %s is not a watched header", i, name)
		}
	}
}

func mustMount(t *testing.T, mount Mount, cfg middleware.Config, h http.Handler) http.Handler {
	t.Helper()
	mounted, err := mount(cfg, h)
	if err != nil {
		t.Fatal(err)
	}
	return mounted
}

// NewLimiter returns a limiter or fails the test.
func NewLimiter(t testing.TB, store weir.Store, limits ...weir.Limit) *weir.Limiter {
	t.Helper()
	l, err := weir.New(weir.Config{Store: store, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	return l
}
