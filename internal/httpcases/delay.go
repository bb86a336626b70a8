package httpcases

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

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
			{request: ann, want: limited(`"2-in-1m"`, "30", twoPerMinute("0", "30"))},
			{after: 10 * time.Second, takes: 20 * time.Second, request: ann, want: second},
		},
	},
	{
		name:   "a request whose time would be over is refused",
		config: delaying(time.Minute),
		steps: []step{
			{request: ann, want: first},
			{request: ann, want: second},
			{request: request{user: "ann", ctx: shortly}, want: limited(`"2-in-1m"`, "30", twoPerMinute("0", "30"))},
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
		name:   "a request that waited is settled",
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
		name:   "the store fails closed for waiting requests, too",
		config: func(cfg *middleware.Config) { delaying(time.Minute)(cfg); failClosed(cfg) },
		store:  failing(errSecret),
		steps:  one(unavailable),
	},
}

// testMaxWaiting checks that few requests wait and that further ones are served
// now or refused.
func testMaxWaiting(t *testing.T, mount Mount, open func(testing.TB) weir.Store) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := middleware.Config{
			Limiter: NewLimiter(t, open(t), weir.PerMinute(1)), Key: weir.KeyHeader("X-User"),
			Delay: middleware.Delay{Max: time.Hour, MaxWaiting: 3},
		}
		h := mustMount(t, mount, cfg, http.HandlerFunc(handler))
		do(t, h, ann)
		var statuses tally
		for range 10 {
			go func() { statuses.add(do(t, h, ann).status) }()
		}
		synctest.Wait()
		if got := do(t, h, bob); statuses.of(429) != 7 || got.status != 200 {
			t.Errorf("at once: %v, and %d for another client", &statuses, got.status)
		}
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if statuses.of(200) != 3 {
			t.Errorf("after 3 minutes: %v", &statuses)
		}
		// Clients that have left the queue make room.
		if got := do(t, h, ann); got.status != 200 {
			t.Errorf("status %d of a client that waits alone", got.status)
		}
	})
}

var penaltyCases = []testCase{
	{
		name: "the third refusal blocks the key, and no other key",
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
		name: "refusals far apart block no key",
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
			{request: on("free", "ann"), want: served(draft11(freePolicy, `"free";r=0;t=60`))},
			{request: on("free", "ann"), want: abnormal("120", draft11(freePolicy, `"free";r=0;t=120`))},
			{after: time.Minute, request: on("free", "ann"), want: abnormal("60", draft11(freePolicy, `"free";r=0;t=60`))},
			{after: time.Minute, request: on("free", "ann"), want: served(draft11(freePolicy, `"free";r=0;t=60`))},
		},
	},
	{
		name:   "shadow blocks no key, however often it would have refused",
		config: func(cfg *middleware.Config) { cfg.Shadow = true },
		more:   penalty(1, 2*time.Minute),
		steps:  []step{{request: ann, want: unlimited}, {request: ann, want: unlimited}, {request: ann, want: unlimited}, {request: ann, want: unlimited}},
	},
}
