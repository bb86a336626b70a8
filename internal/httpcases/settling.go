package httpcases

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

var settleCases = []testCase{
	{
		name:   "only failures are charged",
		config: settling(middleware.OnlyFailures),
		steps: []step{
			{request: ann, want: first},
			{request: answered("302"), want: first.as(302)},
			{request: ann, want: first},
			{request: answered("401"), want: first.as(401)},
			{request: ann, want: second},
			{request: answered("500"), want: second.as(500)},
			{request: ann, want: third},
			{request: bob, want: first},
			{after: 30 * time.Second, request: ann, want: second},
			{request: ann, want: second},
		},
	},
	{
		name:   "only successes are charged",
		config: settling(middleware.OnlySuccesses),
		steps: []step{
			{request: answered("404"), want: first.as(404)},
			{request: answered("503"), want: first.as(503)},
			{request: ann, want: first},
			{request: answered("404"), want: second.as(404)},
			{request: answered("204"), want: second.as(204)},
			{request: answered("404"), want: third},
		},
	},
	{
		name:   "bytes are charged, and later requests wait for the debt",
		limits: []weir.Limit{weir.PerMinute(10)},
		config: settling(middleware.ResponseBytes),
		steps: []step{
			{request: ann, want: served(tenPerMinute("9", "6"))},
			{request: ann, want: served(tenPerMinute("3", "6"))},
			{request: ann, want: limited(`"10-in-1m"`, "18", tenPerMinute("0", "18"))},
			{after: 18 * time.Second, request: ann, want: served(tenPerMinute("0", "6"))},
		},
	},
	{
		name:   "settling corrects a plan's limits",
		config: func(cfg *middleware.Config) { byPlan(cfg); cfg.Settle = middleware.OnlyFailures },
		steps: []step{
			{request: on("free", "ann"), want: served(draft11(freePolicy, `"free";r=0;t=60`))},
			{request: on("free", "ann"), want: served(draft11(freePolicy, `"free";r=0;t=60`))},
			{request: on("empty", "ann"), want: broken},
		},
	},
	{
		name: "the outcome has the charge, and a wrong cost leaves the charge",
		config: func(cfg *middleware.Config) {
			cfg.Cost = func(*http.Request) (int64, error) { return 2, nil }
			cfg.Settle = func(_ *http.Request, o middleware.Outcome) int64 {
				if o != (middleware.Outcome{Status: 200, Bytes: int64(len(servedBody)), Cost: 2}) {
					return 0
				}
				return -1
			}
		},
		steps: []step{
			{request: ann, want: second},
			{request: ann, want: limited(`"2-in-1m"`, "60", twoPerMinute("0", "60"))},
		},
	},
	{
		name:   "the body that a HEAD does not get is not charged",
		limits: []weir.Limit{weir.PerMinute(10)},
		config: settling(middleware.ResponseBytes),
		steps: []step{
			{request: request{method: http.MethodHead, user: "ann"}, want: served(tenPerMinute("9", "6"))},
			{request: request{method: http.MethodHead, user: "ann"}, want: served(tenPerMinute("9", "6"))},
		},
	},
	{
		name:   "a request that passes unlimited is not settled",
		config: func(cfg *middleware.Config) { cfg.Skip = health; cfg.Settle = middleware.ResponseBytes },
		steps: []step{
			{request: request{header: http.Header{"X-Health": {"1"}, "X-User": {"ann"}}}, want: unlimited},
			{request: ann, want: first},
		},
	},
	{
		name: "a request that cost nothing is not settled",
		config: func(cfg *middleware.Config) {
			costHeader(cfg)
			cfg.Settle = func(*http.Request, middleware.Outcome) int64 { panic("settled") }
		},
		steps: []step{{request: costing("0"), want: served(twoPerMinute("2", "0"))}},
	},
	{
		name:   "shadow settles",
		config: func(cfg *middleware.Config) { cfg.Shadow = true; cfg.Settle = middleware.ResponseBytes },
		steps:  []step{{request: ann, want: unlimited}, {request: ann, want: unlimited}},
	},
}

// testCharging checks that requests count while they are served: any number of them at
// once can't pass a limit on failures.
func testCharging(t *testing.T, mount Mount, open func(testing.TB) weir.Store) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := byUser(t, open(t), weir.PerMinute(2))
		cfg.Settle = middleware.OnlyFailures
		h := mustMount(t, mount, cfg, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second)
			handler(w, r)
		}))
		var statuses tally
		for range 10 {
			go func() { statuses.add(do(t, h, ann).status) }()
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if statuses.of(200) != 2 || statuses.of(429) != 8 {
			t.Errorf("statuses %v", &statuses)
		}
		if got := do(t, h, ann); got.status != 200 {
			t.Errorf("status %d though no request had failed", got.status)
		}
	})
}

// testAborted checks that a handler which panics behind a client that has left,
// as httputil.ReverseProxy does, is charged by its sent part: the start of a body, or
// a status alone, which a flush sends.
func testAborted(t *testing.T, mount Mount) {
	t.Parallel()
	flushed := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if status != 0 {
				w.WriteHeader(status)
			}
			_ = http.NewResponseController(w).Flush()
		}
	}
	long := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 5000)) }
	for _, tt := range []struct {
		name    string
		settle  settleFunc
		handler http.HandlerFunc
		want    middleware.Outcome
		next    int // the status of the next request
	}{
		{"failures, a body", middleware.OnlyFailures, long, middleware.Outcome{Status: 200, Bytes: 5000, Cost: 1}, 200},
		{"successes, a body", middleware.OnlySuccesses, long, middleware.Outcome{Status: 200, Bytes: 5000, Cost: 1}, 429},
		{"failures, a status", middleware.OnlyFailures, flushed(200), middleware.Outcome{Status: 200, Cost: 1}, 200},
		{"successes, a status", middleware.OnlySuccesses, flushed(200), middleware.Outcome{Status: 200, Cost: 1}, 429},
		{"successes, no status of its own", middleware.OnlySuccesses, flushed(0), middleware.Outcome{Status: 200, Cost: 1}, 429},
		{"failures, another status", middleware.OnlyFailures, flushed(404), middleware.Outcome{Status: 404, Cost: 1}, 429},
	} {
		var outcome middleware.Outcome
		cfg := byUser(t, newStore(), weir.PerHour(1))
		cfg.Settle = func(r *http.Request, o middleware.Outcome) int64 { outcome = o; return tt.settle(r, o) }
		h := mustMount(t, mount, cfg, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			tt.handler(w, r)
			panic(http.ErrAbortHandler)
		}))
		for _, want := range []int{tt.want.Status, tt.next} {
			var got int
			func() {
				defer func() { _ = recover() }()
				w := httptest.NewRecorder()
				defer func() { got = w.Code }()
				h.ServeHTTP(w, ann.build(t))
			}()
			if got != want || outcome != tt.want {
				t.Errorf("%s: status %d, want %d; outcome %+v, want %+v", tt.name, got, want, outcome, tt.want)
			}
		}
	}
}

// testPanic checks that a handler which panics before it answers is charged as a failure,
// even if it has set a status of success.
func testPanic(t *testing.T, mount Mount) {
	t.Parallel()
	for name, settle := range map[string]settleFunc{"failures": middleware.OnlyFailures, "successes": middleware.OnlySuccesses} {
		var outcome middleware.Outcome
		cfg := byUser(t, newStore(), weir.PerHour(1))
		cfg.Settle = func(r *http.Request, o middleware.Outcome) int64 { outcome = o; return settle(r, o) }
		h := mustMount(t, mount, cfg, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Status") == "" {
				w.WriteHeader(http.StatusOK)
				panic(http.ErrAbortHandler)
			}
			handler(w, r)
		}))
		func() {
			defer func() {
				if recover() != http.ErrAbortHandler {
					t.Error("the panic was not passed on")
				}
			}()
			do(t, h, ann)
		}()
		if outcome != (middleware.Outcome{Status: 500, Cost: 1}) {
			t.Errorf("%s: outcome %+v", name, outcome)
		}
		want := map[string]int{"failures": 429, "successes": 200}[name]
		if got := do(t, h, answered("200")); got.status != want {
			t.Errorf("%s: status %d after the panic, want %d", name, got.status, want)
		}
	}
}
