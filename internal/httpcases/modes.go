package httpcases

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

var forbidden = problem(http.StatusForbidden, blank(403, "The request is from somebody who is blocked."), nil)

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
		name: "the anonymous key can be blocked",
		config: func(cfg *middleware.Config) {
			cfg.NoKey, cfg.AnonymousKey = middleware.NoKeyAnonymous, "(anonymous)"
			cfg.Lists.Block = middleware.Keys("(anonymous)")
		},
		steps: []step{{request: nobody, want: forbidden}, {request: ann, want: first}},
	},
	{
		name: "shadow blocks nobody",
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

func delaying(d time.Duration) func(*middleware.Config) {
	return func(cfg *middleware.Config) { cfg.Delay = middleware.Delay{Max: d, MostWaiting: 10} }
}

// leaving is a client that goes away, and had not said when.
func leaving(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	time.AfterFunc(time.Second, cancel)
	return ctx, cancel
}

var delayCases = []testCase{
	{
		name:   "a request waits for its slot, and the headers tell of that instant",
		config: delaying(30 * time.Second),
		steps: []step{
			{request: ann, want: first},
			{request: ann, want: second},
			{takes: 30 * time.Second, request: ann, want: second},
			{takes: 30 * time.Second, request: ann, want: second},
			{request: bob, want: first},
		},
	},
	{
		name:   "a request that would wait longer is refused",
		config: delaying(20 * time.Second),
		steps: []step{
			{request: ann, want: first},
			{request: ann, want: second},
			{request: ann, want: limited(`"2-in-1m"`, "30", twoPerMinute("0", "60"))},
			{after: 10 * time.Second, takes: 20 * time.Second, request: ann, want: second},
		},
	},
	{
		name:   "a request whose time would be over is refused",
		config: delaying(time.Minute),
		steps: []step{
			{request: ann, want: first},
			{request: ann, want: second},
			{request: request{user: "ann", ctx: shortly}, want: limited(`"2-in-1m"`, "30", twoPerMinute("0", "60"))},
			{takes: 30 * time.Second, request: ann, want: second},
		},
	},
	{
		name:   "a client that leaves gives its slot back",
		config: delaying(29 * time.Second),
		steps: []step{
			{request: ann, want: first},
			{request: ann, want: second},
			{after: time.Second, takes: time.Second, request: request{user: "ann", ctx: leaving}, want: ended},
			{takes: 28 * time.Second, request: ann, want: second},
		},
	},
	{
		name:   "shadow does not wait",
		config: func(cfg *middleware.Config) { delaying(time.Hour)(cfg); cfg.Shadow = true },
		steps: []step{
			{request: ann, want: unlimited},
			{request: ann, want: unlimited},
			{request: ann, want: unlimited},
		},
	},
	{
		name:   "what waited is settled",
		config: func(cfg *middleware.Config) { delaying(30 * time.Second)(cfg); cfg.Settle = middleware.OnlyFailures },
		steps: []step{
			{request: answered("400"), want: first.as(400)},
			{request: answered("400"), want: second.as(400)},
			{takes: 30 * time.Second, request: ann, want: second},
			{request: answered("400"), want: second.as(400)},
			{takes: 30 * time.Second, request: ann, want: second},
		},
	},
	{
		name:   "the store fails closed for those who wait, too",
		config: func(cfg *middleware.Config) { delaying(time.Minute)(cfg); failClosed(cfg) },
		store:  failing(errSecret),
		steps:  one(unavailable),
	},
}

// tally counts statuses.
type tally struct {
	mu sync.Mutex
	n  map[int]int
}

func (t *tally) add(status int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == nil {
		t.n = map[int]int{}
	}
	t.n[status]++
}

func (t *tally) of(status int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n[status]
}

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return fmt.Sprint(t.n)
}

// testMostWaiting checks that few requests wait and that further ones are served
// now or refused.
func testMostWaiting(t *testing.T, mount Mount) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := middleware.Config{
			Limiter: NewLimiter(t, newStore(), weir.PerMinute(1)), Key: weir.KeyHeader("X-User"),
			Delay: middleware.Delay{Max: time.Hour, MostWaiting: 3},
		}
		h := mustMount(t, mount, cfg, http.HandlerFunc(handler))
		do(t, h, ann)
		var statuses tally
		for range 10 {
			go func() { statuses.add(do(t, h, ann).status) }()
		}
		synctest.Wait()
		if got := do(t, h, bob); statuses.of(429) != 7 || got.status != 200 {
			t.Errorf("at once: %v, and %d for somebody else", &statuses, got.status)
		}
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if statuses.of(200) != 3 {
			t.Errorf("after 3 minutes: %v", &statuses)
		}
		// Those who have left the queue make room.
		if got := do(t, h, ann); got.status != 200 {
			t.Errorf("status %d of one who waits alone", got.status)
		}
	})
}

func penalty(k int64, d time.Duration) func(testing.TB, weir.Store, *middleware.Config) {
	return func(t testing.TB, store weir.Store, cfg *middleware.Config) {
		counter, err := weir.New(weir.Config{
			Name: "refusals", Store: store, Limits: []weir.Limit{weir.PerMinute(k).By(weir.FixedWindow)},
		})
		if err != nil {
			t.Fatal(err)
		}
		cfg.Penalty = middleware.Penalty{Limiter: counter, For: d}
	}
}

// abnormal is a refusal of a blocked key.
func abnormal(retryAfter string, header map[string]string) answer {
	body := strings.Replace(reduced("", `,"detail":"Requests are paused."`), "temporary-reduced-capacity", "abnormal-usage-detected", 1)
	body = strings.Replace(body, "Request cannot be satisfied due to temporary server capacity constraints",
		"Request not satisfied due to detection of abnormal request pattern", 1)
	return problem(http.StatusTooManyRequests, body, with(header, "Retry-After", retryAfter))
}

var penaltyCases = []testCase{
	{
		name: "the third refusal blocks the key, and nobody else's",
		more: penalty(3, 5*time.Minute),
		steps: []step{
			{request: ann, want: first},
			{request: ann, want: second},
			{request: ann, want: third},
			{request: ann, want: third},
			{request: ann, want: abnormal("300", twoPerMinute("0", "300"))},
			{request: bob, want: first},
			{after: time.Minute, request: ann, want: abnormal("240", twoPerMinute("0", "240"))},
			{request: ann, want: abnormal("240", twoPerMinute("0", "240"))},
			{request: ann, want: abnormal("240", twoPerMinute("0", "240"))},
			{after: 4 * time.Minute, request: ann, want: first},
		},
	},
	{
		name: "refusals far apart block nobody",
		more: penalty(2, 5*time.Minute),
		steps: []step{
			{request: ann, want: first},
			{request: ann, want: second},
			{request: ann, want: third},
			{after: time.Minute, request: ann, want: first},
			{request: ann, want: second},
			{request: ann, want: third},
		},
	},
	{
		name:   "a plan's limits are blocked as well",
		config: byPlan,
		more:   penalty(1, 2*time.Minute),
		steps: []step{
			{request: on("free", "ann"), want: served(ietf(freePolicy, `"free";r=0;t=60`))},
			{request: on("free", "ann"), want: abnormal("120", ietf(freePolicy, `"free";r=0;t=120`))},
			{after: time.Minute, request: on("free", "ann"), want: abnormal("60", ietf(freePolicy, `"free";r=0;t=60`))},
			{after: time.Minute, request: on("free", "ann"), want: served(ietf(freePolicy, `"free";r=0;t=60`))},
		},
	},
	{
		name:   "shadow blocks nobody, however often it would have refused",
		config: func(cfg *middleware.Config) { cfg.Shadow = true },
		more:   penalty(1, 2*time.Minute),
		steps:  []step{{request: ann, want: unlimited}, {request: ann, want: unlimited}, {request: ann, want: unlimited}, {request: ann, want: unlimited}},
	},
}

// testShadows checks that limits in shadow count what they would have refused,
// and that those which are enforced refuse all the same.
func testShadows(t *testing.T, mount Mount) {
	t.Parallel()
	var mu sync.Mutex
	refused := map[string]int{}
	allowed := map[string]int{}
	store := newStore()
	limiter := func(name string, limits ...weir.Limit) *weir.Limiter {
		l, err := weir.New(weir.Config{Name: name, Store: store, Limits: limits, Hook: weir.HookFunc(func(_ context.Context, e weir.Event) {
			mu.Lock()
			defer mu.Unlock()
			if e.Decision.Allowed {
				allowed[name]++
			} else {
				refused[name]++
			}
		})})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	var told []error
	brokenShadow, err := weir.New(weir.Config{Name: "away", Store: failing(errSecret)(), Limits: []weir.Limit{weir.PerHour(1)}})
	if err != nil {
		t.Fatal(err)
	}
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
		t.Errorf("told %v", told)
	}
}

// testNeverIdentified checks that a mount in front of the authentication is told
// of, once.
func testNeverIdentified(t *testing.T, mount Mount) {
	t.Parallel()
	tests := []struct {
		name     string
		requests func(i int) request
		policy   middleware.NoKey
		want     int
	}{
		{name: "nobody", requests: func(int) request { return nobody }, want: 1},
		{name: "nobody, unlimited", requests: func(int) request { return nobody }, policy: middleware.NoKeyUnlimited, want: 1},
		{name: "nobody, anonymous", requests: func(int) request { return nobody }, policy: middleware.NoKeyAnonymous, want: 1},
		{name: "somebody", requests: func(i int) request {
			if i == 99 {
				return ann
			}
			return nobody
		}},
		{name: "everybody", requests: func(int) request { return ann }},
	}
	for _, tt := range tests {
		told := 0
		cfg := middleware.Config{
			Limiter: NewLimiter(t, Always{}, weir.PerHour(1)), Key: weir.KeyHeader("X-User"), NoKey: tt.policy,
			OnError: func(_ *http.Request, err error) {
				if errors.Is(err, middleware.ErrNeverIdentified) {
					told++
				}
			},
		}
		if tt.policy == middleware.NoKeyAnonymous {
			cfg.AnonymousKey = "(anonymous)"
		}
		h := mustMount(t, mount, cfg, http.HandlerFunc(handler))
		for i := range 300 {
			do(t, h, tt.requests(i))
			if i == 98 && told != 0 {
				t.Errorf("%s: told after 99", tt.name)
			}
		}
		if told != tt.want {
			t.Errorf("%s: told %d times, want %d", tt.name, told, tt.want)
		}
	}
}
