package httpcases

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// testShadows checks that limits in shadow count the requests that they would have
// refused, and that enforced limits still refuse.
func testShadows(t *testing.T, mount Mount) {
	t.Parallel()
	var mu sync.Mutex
	refused := map[string]int{}
	allowed := map[string]int{}
	store := newStore()
	limiter := func(name string, limits ...weir.Limit) *weir.Limiter {
		l, err := weir.New(weir.Config{Name: name, Store: store, Limits: limits, Hook: func(_ context.Context, e weir.Event) {
			mu.Lock()
			defer mu.Unlock()
			if e.Decision.Allowed {
				allowed[name]++
			} else {
				refused[name]++
			}
		}})
		must(t, err)
		return l
	}
	var told []error
	brokenShadow := named(t, failing(errSecret)(), "away", weir.PerHour(1))
	cfg := middleware.Config{
		Limiter: limiter("enforced", weir.PerHour(4)),
		Key:     weir.KeyHeader("X-User"),
		Shadows: []*weir.Limiter{limiter("strict", weir.PerHour(1)), brokenShadow, limiter("lax", weir.PerHour(3))},
		OnError: func(_ *http.Request, err error) { told = append(told, err) },
	}
	h := mustMount(t, mount, cfg, http.HandlerFunc(handler))
	var statuses []int
	for range 6 {
		got := do(t, h, ann)
		statuses = append(statuses, got.status)
		if policy := got.header["RateLimit-Policy"]; policy != `"4-in-1h";q=4;w=3600` {
			t.Errorf("policy %s", policy)
		}
	}
	for i, want := range []int{200, 200, 200, 200, 429, 429} {
		if statuses[i] != want {
			t.Errorf("statuses %v", statuses)
			break
		}
	}
	for name, want := range map[string][2]int{"enforced": {4, 2}, "strict": {1, 3}, "lax": {3, 1}} {
		if allowed[name] != want[0] || refused[name] != want[1] {
			t.Errorf("%s: %d allowed and %d refused, want %v", name, allowed[name], refused[name], want)
		}
	}
	if len(told) != 4 || !errors.Is(told[0], weir.ErrStore) {
		t.Errorf("OnError got %v", told)
	}
}

// testNeverIdentified checks that OnError gets ErrNeverIdentified once from a mount in
// front of the authentication.
func testNeverIdentified(t *testing.T, mount Mount) {
	t.Parallel()
	tests := []struct {
		name     string
		requests func(i int) request
		instead  middleware.NoKey
		want     int
	}{
		{name: "no identity", requests: func(int) request { return nobody }, want: 1},
		{name: "no identity, unlimited", requests: func(int) request { return nobody }, instead: middleware.NoKey{Pass: true}, want: 1},
		{name: "no identity, anonymous", requests: func(int) request { return nobody }, instead: middleware.NoKey{Key: "(anonymous)"}, want: 1},
		{name: "one identity", requests: func(i int) request {
			if i == 99 {
				return ann
			}
			return nobody
		}},
		{name: "only identities", requests: func(int) request { return ann }},
	}
	for _, tt := range tests {
		told := 0
		cfg := middleware.Config{
			Limiter: NewLimiter(t, Always{}, weir.PerHour(1)), Key: weir.KeyHeader("X-User"), OnNoKey: always(tt.instead),
			OnError: func(_ *http.Request, err error) {
				if errors.Is(err, middleware.ErrNeverIdentified) {
					told++
				}
			},
		}
		h := mustMount(t, mount, cfg, http.HandlerFunc(handler))
		for i := range 300 {
			do(t, h, tt.requests(i))
			if i == 98 && told != 0 {
				t.Errorf("%s: OnError was called after 99 requests", tt.name)
			}
		}
		if told != tt.want {
			t.Errorf("%s: OnError was called %d times, want %d", tt.name, told, tt.want)
		}
	}
}
