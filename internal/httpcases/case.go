package httpcases

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// Mount returns a handler for all methods and paths, with h behind the middleware.
type Mount func(cfg middleware.Config, h http.Handler) (http.Handler, error)

// testCase is a configuration, and requests with their answers, one after another.
type testCase struct {
	name   string
	limits []weir.Limit                                     // nil: 2 per minute
	store  func() weir.Store                                // nil: the store that open returns
	config func(*middleware.Config)                         // nil: the limiter, and KeyHeader("X-User")
	more   func(testing.TB, weir.Store, *middleware.Config) // the fields that need the store
	steps  []step
}

type step struct {
	after   time.Duration // sleep before
	takes   time.Duration // how long it is under way
	request request
	want    answer
}

func (c testCase) build(t *testing.T, open func(testing.TB) weir.Store) middleware.Config {
	var store weir.Store
	if c.store != nil {
		store = c.store()
	} else {
		store = open(t)
	}
	limits := c.limits
	if limits == nil {
		limits = []weir.Limit{weir.PerMinute(2)}
	}
	cfg := byUser(t, store, limits...)
	cfg.OnError = func(*http.Request, error) {}
	if c.config != nil {
		c.config(&cfg)
	}
	if c.more != nil {
		c.more(t, store, &cfg)
	}
	return cfg
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

// one returns steps with a single request by ann.
func one(want answer) []step { return []step{{request: ann, want: want}} }

// handler answers with the status in X-Status, or 200 without one.
func handler(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	if status, err := strconv.Atoi(r.Header.Get("X-Status")); err == nil {
		w.WriteHeader(status)
	}
	_, _ = io.WriteString(w, servedBody)
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

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustMount(t *testing.T, mount Mount, cfg middleware.Config, h http.Handler) http.Handler {
	t.Helper()
	mounted, err := mount(cfg, h)
	must(t, err)
	return mounted
}

// NewLimiter returns a limiter or fails the test.
func NewLimiter(t testing.TB, store weir.Store, limits ...weir.Limit) *weir.Limiter {
	t.Helper()
	return named(t, store, "api", limits...)
}

// byUser returns a Config for limits of each X-User.
func byUser(t testing.TB, store weir.Store, limits ...weir.Limit) middleware.Config {
	t.Helper()
	return middleware.Config{Limiter: NewLimiter(t, store, limits...), Key: weir.KeyHeader("X-User")}
}

func named(t testing.TB, store weir.Store, name string, limits ...weir.Limit) *weir.Limiter {
	t.Helper()
	l, err := weir.New(weir.Config{Name: name, Store: store, Limits: limits})
	must(t, err)
	return l
}

// tally counts statuses.
type tally [600]atomic.Int64

func (t *tally) add(status int) { t[status].Add(1) }

func (t *tally) of(status int) int { return int(t[status].Load()) }

func (t *tally) String() string {
	n := map[int]int{}
	for status := range t {
		if t.of(status) > 0 {
			n[status] = t.of(status)
		}
	}
	return fmt.Sprint(n)
}
