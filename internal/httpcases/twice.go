package httpcases

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store"
)

// testTwice mounts two middlewares on the way of one request.
func testTwice(t *testing.T, mount Mount) {
	user, team := weir.KeyHeader("X-User"), weir.KeyHeader("X-Team")
	tests := []struct {
		name  string
		outer func(*middleware.Config)
		inner func(*middleware.Config)
		takes int64
	}{
		{name: "the same limiter and key", takes: 1},
		{name: "another key", inner: func(cfg *middleware.Config) { cfg.Key = team }, takes: 2},
		{name: "a Limiter of the same name", inner: func(cfg *middleware.Config) {
			cfg.Limiter = NewLimiter(t, cfg.Limiter.Config().Store, weir.PerMinute(2))
		}, takes: 1},
		{name: "another limiter", inner: func(cfg *middleware.Config) { cfg.Limiter = NewLimiter(t, NewCounting(), weir.PerHour(5)) }, takes: 1},
		{name: "skipped outside", outer: func(cfg *middleware.Config) { cfg.Skip = func(*http.Request) bool { return true } }, takes: 1},
		{name: "in shadow outside", outer: func(cfg *middleware.Config) { cfg.Shadow = true }, takes: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store := NewCounting()
			outer := middleware.Config{Limiter: NewLimiter(t, store, weir.PerMinute(2)), Key: user}
			inner := outer
			if tt.outer != nil {
				tt.outer(&outer)
			}
			if tt.inner != nil {
				tt.inner(&inner)
			}
			h := mustMount(t, mount, outer, mustMount(t, mount, inner, http.HandlerFunc(handler)))
			got := do(t, h, request{header: http.Header{"X-User": {"ann"}, "X-Team": {"blue"}}})
			if got.body != servedBody || store.Takes.Load() != tt.takes {
				t.Errorf("got %q after %d decisions, want %d", got.body, store.Takes.Load(), tt.takes)
			}
		})
	}
	t.Run("three mounts of two keys", func(t *testing.T) {
		t.Parallel()
		store := NewCounting()
		a := middleware.Config{Limiter: NewLimiter(t, store, weir.PerMinute(2)), Key: user}
		b := a
		b.Key = team
		h := mustMount(t, mount, a, mustMount(t, mount, b, mustMount(t, mount, a, http.HandlerFunc(handler))))
		do(t, h, request{header: http.Header{"X-User": {"ann"}, "X-Team": {"blue"}}})
		if n := store.Takes.Load(); n != 2 {
			t.Errorf("%d decisions, want 2", n)
		}
	})
	t.Run("a store that is away is asked once", func(t *testing.T) {
		t.Parallel()
		testTwiceAway(t, mount, middleware.FailOpen, http.StatusOK, 1)
	})
	t.Run("a store that is away, closed inside", func(t *testing.T) {
		t.Parallel()
		testTwiceAway(t, mount, middleware.FailClosed, http.StatusServiceUnavailable, 2)
	})
	t.Run("shadow outside lets nothing pass inside", func(t *testing.T) {
		t.Parallel()
		inner := middleware.Config{Limiter: NewLimiter(t, NewCounting(), weir.PerMinute(2)), Key: user}
		outer := inner
		outer.Shadow = true
		h := mustMount(t, mount, outer, mustMount(t, mount, inner, http.HandlerFunc(handler)))
		for i, want := range []int{200, 200, 429} {
			got := do(t, h, ann)
			if told := got.header["RateLimit"] != ""; got.status != want || told != (want == 429) {
				t.Errorf("request %d: status %d, want %d; headers: %t", i, got.status, want, told)
			}
		}
	})
	t.Run("settled once", func(t *testing.T) {
		t.Parallel()
		cfg := middleware.Config{
			Limiter: NewLimiter(t, newStore(), weir.PerHour(8)), Key: user, Settle: middleware.ResponseBytes,
		}
		h := mustMount(t, mount, cfg, mustMount(t, mount, cfg, http.HandlerFunc(handler)))
		do(t, h, ann)
		if d, err := cfg.Limiter.Peek(t.Context(), "ann"); d.Remaining != 8-int64(len(servedBody)) || err != nil {
			t.Errorf("%d remaining, %v", d.Remaining, err)
		}
	})
	t.Run("skipped inside", func(t *testing.T) {
		t.Parallel()
		outer := middleware.Config{Limiter: NewLimiter(t, newStore(), weir.PerHour(8)), Key: user, Settle: middleware.OnlyFailures}
		inner := outer
		inner.Skip = func(*http.Request) bool { return true }
		inner.Settle = func(*http.Request, middleware.Outcome) int64 { t.Error("settled"); return 8 }
		do(t, mustMount(t, mount, outer, mustMount(t, mount, inner, http.HandlerFunc(handler))), ann)
		if d, err := outer.Limiter.Peek(t.Context(), "ann"); d.Remaining != 8 || err != nil {
			t.Errorf("%d remaining, %v", d.Remaining, err)
		}
	})
	t.Run("a penalty in shadow blocks no key inside", func(t *testing.T) {
		t.Parallel()
		store := newStore()
		inner := middleware.Config{Limiter: NewLimiter(t, store, weir.PerMinute(2)), Key: user}
		outer := inner
		outer.Shadow = true
		penalty(1, time.Minute)(t, store, &outer)
		h := mustMount(t, mount, outer, mustMount(t, mount, inner, http.HandlerFunc(handler)))
		for range 5 {
			do(t, h, ann)
		}
		if d, err := inner.Limiter.Allow(t.Context(), "ann"); d.Reason != weir.ReasonLimited || err != nil {
			t.Errorf("%v, %v", d.Reason, err)
		}
	})
	t.Run("two limiters are settled each for itself", func(t *testing.T) {
		t.Parallel()
		a := middleware.Config{Limiter: NewLimiter(t, newStore(), weir.PerHour(8)), Key: user, Settle: middleware.ResponseBytes}
		b := a
		b.Limiter, b.Key, b.Settle = NewLimiter(t, newStore(), weir.PerHour(8)), team, middleware.OnlyFailures
		h := mustMount(t, mount, a, mustMount(t, mount, b, http.HandlerFunc(handler)))
		do(t, h, request{header: http.Header{"X-User": {"ann"}, "X-Team": {"blue"}}})
		first, _ := a.Limiter.Peek(t.Context(), "ann")
		second, _ := b.Limiter.Peek(t.Context(), "blue")
		if first.Remaining != 8-int64(len(servedBody)) || second.Remaining != 8 {
			t.Errorf("%d and %d remaining", first.Remaining, second.Remaining)
		}
	})
	t.Run("headers add up", func(t *testing.T) { testTwoHeaders(t, mount) })
}

// testTwiceAway mounts a guard that fails open around another guard of the same limiter.
func testTwiceAway(t *testing.T, mount Mount, inside middleware.StoreFailure, status int, takes int64) {
	store := &Counting{Store: failing(errSecret)()}
	outer := byUser(t, store, weir.PerMinute(2))
	outer.OnError = func(*http.Request, error) {}
	inner := outer
	inner.OnStoreFailure = inside
	h := mustMount(t, mount, outer, mustMount(t, mount, inner, http.HandlerFunc(handler)))
	if got := do(t, h, ann); got.status != status || store.Takes.Load() != takes {
		t.Errorf("status %d after %d decisions, want %d after %d", got.status, store.Takes.Load(), status, takes)
	}
}

// testTwoHeaders checks the headers of two limiters on the way.
func testTwoHeaders(t *testing.T, mount Mount) {
	day := store.Decision{Allowed: true, Limit: store.Per(9, 24*time.Hour), Remaining: 8, ResetAfter: time.Hour}
	hour := store.Decision{Allowed: true, Limit: store.Per(7, time.Hour), Remaining: 3, ResetAfter: time.Minute}
	refused := store.Decision{Reason: weir.ReasonLimited, Limit: store.Per(7, time.Hour), Remaining: 9, ResetAfter: time.Minute, RetryAfter: time.Second}
	dayHour := `"9-in-1d";q=9;w=86400 & "7-in-1h";q=7;w=3600`
	tests := []struct {
		name         string
		outer, inner store.Decision
		style        middleware.HeaderStyle
		want         map[string]string
	}{
		{"draft 11 lists both", day, hour, middleware.HeadersDraft11, draft11(dayHour, `"9-in-1d";r=8;t=3600 & "7-in-1h";r=3;t=60`)},
		{"X shows less remaining, inside", day, hour, middleware.HeadersX, x("7", "3", "60")},
		{"X shows less remaining, outside", hour, day, middleware.HeadersX, x("7", "3", "60")},
		{"X shows the refusing one", day, refused, middleware.HeadersX, with(x("7", "9", "1"), "Retry-After", "1")},
		{
			"draft 6 lists both policies, and shows less remaining", hour, day, middleware.HeadersDraft6,
			draft6(`7;w=3600 & 9;w=86400`, "7", "3", "60"),
		},
		{"draft 6 shows the refusing one", day, refused, middleware.HeadersDraft6, draft6(`9;w=86400 & 7;w=3600`, "7", "9", "1")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			on := func(d store.Decision, h http.Handler) http.Handler {
				l := NewLimiter(t, deciding(d)(), weir.Limit(d.Limit))
				return mustMount(t, mount, middleware.Config{Limiter: l, Key: weir.KeyStatic("all"), Headers: tt.style}, h)
			}
			got := do(t, on(tt.outer, on(tt.inner, http.HandlerFunc(handler))), ann)
			for _, name := range watched {
				if w := tt.want[name]; (w != "" || name[0] == 'X') && got.header[name] != w {
					t.Errorf("%s: %q, want %q", name, got.header[name], w)
				}
			}
		})
	}
	t.Run("exposed headers are listed once", func(t *testing.T) {
		t.Parallel()
		h := http.Handler(http.HandlerFunc(handler))
		for range 2 {
			cfg := middleware.Config{
				Limiter: NewLimiter(t, deciding(day)(), weir.Limit(day.Limit)), Key: weir.KeyStatic("all"), ExposeHeaders: true,
			}
			h = mustMount(t, mount, cfg, h)
		}
		if got := do(t, h, ann).header[exposeHeader]; got != "RateLimit, RateLimit-Policy, Retry-After" {
			t.Errorf("exposed: %q", got)
		}
	})
	t.Run("a handler's own values stay apart", func(t *testing.T) {
		t.Parallel()
		l := NewLimiter(t, deciding(day)(), weir.Limit(day.Limit))
		h := mustMount(t, mount, middleware.Config{Limiter: l, Key: weir.KeyStatic("all")}, http.HandlerFunc(
			func(w http.ResponseWriter, _ *http.Request) { w.Header().Add("RateLimit-Policy", `"mine";q=1`) }))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, ann.build(t))
		if got := w.Header().Get("RateLimit"); got != `"9-in-1d";r=8;t=3600` {
			t.Errorf("RateLimit: %q", got)
		}
		if got := w.Header().Values("RateLimit-Policy"); len(got) != 2 || got[1] != `"mine";q=1` {
			t.Errorf("RateLimit-Policy: %q", got)
		}
	})
}
