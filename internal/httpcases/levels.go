package httpcases

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// withLevels adds two levels to the user's limits: the team with 3 per hour, and all
// users with 4 per hour.
func withLevels(more ...func(*middleware.Config)) func(testing.TB, weir.Store, *middleware.Config) {
	return func(t testing.TB, store weir.Store, cfg *middleware.Config) {
		cfg.Limiter = named(t, store, "user", cfg.Limiter.Config().Limits...)
		cfg.Levels = []middleware.Level{
			{Limiter: named(t, store, "team", weir.PerHour(3)), Key: weir.KeyHeader("X-Team"), SkipNoKey: true},
			{Limiter: named(t, store, "all", weir.PerHour(4).WithName("everybody")), Key: weir.KeyStatic("all")},
		}
		for _, change := range more {
			change(cfg)
		}
	}
}

func inTeam(user, team string) request {
	return request{header: http.Header{"X-User": {user}, "X-Team": {team}}}
}

const (
	threeLevels = `"2-in-1m";q=2;w=60, "3-in-1h";q=3;w=3600, "everybody";q=4;w=3600`
	twoLevels   = `"2-in-1m";q=2;w=60, "everybody";q=4;w=3600`
)

// leveled returns the rate headers of three levels: the units left, and the seconds
// until each level is as if never used.
func leveled(user, team, all string) map[string]string {
	return draft11(threeLevels, `"2-in-1m";`+user+`, "3-in-1h";`+team+`, "everybody";`+all)
}

var levelCases = []testCase{
	{
		name: "every level refuses for itself, and takes nothing of the others",
		more: withLevels(),
		steps: []step{
			{request: inTeam("ann", "blue"), want: served(leveled("r=1;t=30", "r=2;t=1200", "r=3;t=900"))},
			{request: inTeam("ann", "blue"), want: served(leveled("r=0;t=30", "r=1;t=1200", "r=2;t=900"))},
			{request: inTeam("ann", "blue"), want: limited(`"2-in-1m"`, "30", leveled("r=0;t=30", "r=1;t=1200", "r=2;t=900"))},
			{request: inTeam("bob", "blue"), want: served(leveled("r=1;t=30", "r=0;t=1200", "r=1;t=900"))},
			{request: inTeam("bob", "blue"), want: limited(`"3-in-1h"`, "1200", leveled("r=1;t=30", "r=0;t=1200", "r=1;t=900"))},
			{request: inTeam("ann", "blue"), want: limited(`"2-in-1m","3-in-1h"`, "1200", leveled("r=0;t=30", "r=0;t=1200", "r=1;t=900"))},
			{request: inTeam("cyd", "red"), want: served(leveled("r=1;t=30", "r=2;t=1200", "r=0;t=900"))},
			{request: inTeam("cyd", "red"), want: limited(`"everybody"`, "900", leveled("r=1;t=30", "r=2;t=1200", "r=0;t=900"))},
			{after: 900 * time.Second, request: inTeam("cyd", "red"), want: served(leveled("r=1;t=30", "r=1;t=300", "r=0;t=900"))},
		},
	},
	{
		name: "a level with SkipNoKey does not count requests without a key",
		more: withLevels(),
		steps: []step{
			{request: ann, want: served(draft11(twoLevels, `"2-in-1m";r=1;t=30, "everybody";r=3;t=900`))},
			{request: nobody, want: problem(http.StatusUnauthorized, blank(401, "The request does not say who it is from."), nil)},
			{request: inTeam("bob", ""), want: served(draft11(twoLevels, `"2-in-1m";r=1;t=30, "everybody";r=2;t=900`))},
		},
	},
	{
		name: "a level without a key refuses elsewhere, and costs nothing",
		more: withLevels(func(cfg *middleware.Config) { cfg.Levels[0].SkipNoKey = false; cfg.Challenge = "Bearer" }),
		steps: []step{
			{request: ann, want: problem(http.StatusUnauthorized, blank(401, "The request does not say who it is from."), map[string]string{"WWW-Authenticate": "Bearer"})},
			{
				request: request{header: http.Header{"X-User": {"ann"}, "X-Team": {"red", "blue"}}},
				want:    problem(http.StatusBadRequest, blank(400, "The request says in no valid form, or more than once, who it is from."), nil),
			},
			{request: inTeam("ann", "blue"), want: served(leveled("r=1;t=30", "r=2;t=1200", "r=3;t=900"))},
		},
	},
	{
		name: "levels have costs of their own",
		more: withLevels(func(cfg *middleware.Config) {
			costHeader(cfg)
			cfg.Levels[0].Cost = func(*http.Request) (int64, error) { return 0, nil }
			cfg.Levels[1].Cost = func(*http.Request) (int64, error) { return 3, nil }
		}),
		steps: []step{
			{
				request: request{header: http.Header{"X-User": {"ann"}, "X-Team": {"blue"}, "X-Cost": {"2"}}},
				want:    served(leveled("r=0;t=30", "r=3;t=0", "r=1;t=900")),
			},
			{
				request: request{header: http.Header{"X-User": {"bob"}, "X-Team": {"blue"}, "X-Cost": {"0"}}},
				want:    limited(`"everybody"`, "1800", leveled("r=2;t=0", "r=3;t=0", "r=1;t=1800")),
			},
			{request: request{header: http.Header{"X-User": {"bob"}, "X-Cost": {"-1"}}}, want: broken},
		},
	},
	{
		name: "levels have plans, and no two policies one name",
		more: withLevels(func(cfg *middleware.Config) {
			byPlan(cfg)
			cfg.Levels[0].Limits = func(r *http.Request) ([]weir.Limit, error) {
				if r.Header.Get("X-Team") == "lost" {
					return nil, errSecret
				}
				return plans[r.Header.Get("X-Team")], nil
			}
		}),
		steps: []step{
			{
				request: request{header: http.Header{"X-User": {"ann"}, "X-Plan": {"free"}, "X-Team": {"free"}}},
				want: served(draft11(`"free";q=1;w=60, "team:free";q=1;w=60, "everybody";q=4;w=3600`,
					`"free";r=0;t=60, "team:free";r=0;t=60, "everybody";r=3;t=900`)),
			},
			{
				request: request{header: http.Header{"X-User": {"bob"}, "X-Plan": {"pro"}, "X-Team": {"free"}}},
				want: limited(`"free"`, "60", draft11(proPolicy+`, "free";q=1;w=60, "everybody";q=4;w=3600`,
					`"pro";r=10;t=0, "pro-day";r=1000;t=0, "free";r=0;t=60, "everybody";r=3;t=900`)),
			},
			{request: request{header: http.Header{"X-User": {"bob"}, "X-Plan": {"pro"}, "X-Team": {"empty"}}}, want: broken},
			{request: request{header: http.Header{"X-User": {"bob"}, "X-Plan": {"pro"}, "X-Team": {"lost"}}}, want: unlimited},
		},
	},
	{
		name: "a policy that gets another name has none of its own level's",
		more: withLevels(func(cfg *middleware.Config) {
			cfg.Levels[0].Limits = func(*http.Request) ([]weir.Limit, error) {
				return []weir.Limit{
					weir.PerMinute(9).WithName("2-in-1m"), weir.PerHour(60).WithName("team:2-in-1m"), weir.PerDay(100).WithName("team:2-in-1m-2"),
				}, nil
			}
		}),
		steps: []step{{request: inTeam("ann", "blue"), want: served(draft11(
			`"2-in-1m";q=2;w=60, "team:2-in-1m-3";q=9;w=60, "team:2-in-1m";q=60;w=3600, "team:2-in-1m-2";q=100;w=86400, "everybody";q=4;w=3600`,
			`"2-in-1m";r=1;t=30, "team:2-in-1m-3";r=8;t=7, "team:2-in-1m";r=59;t=60, "team:2-in-1m-2";r=99;t=864, "everybody";r=3;t=900`,
		))}},
	},
	{
		name: "X headers tell of the binding limit of all levels",
		more: withLevels(xStyle),
		steps: []step{
			{request: inTeam("ann", "blue"), want: served(x("2", "1", "30"))},
			{request: inTeam("bob", "blue"), want: served(x("3", "1", "1200"))},
			{request: inTeam("cyd", "blue"), want: served(x("3", "0", "1200"))},
			{request: inTeam("dan", "blue"), want: limited(`"3-in-1h"`, "1200", x("3", "0", "1200"))},
		},
	},
	{
		name: "draft 6 has the policies of all levels",
		more: withLevels(func(cfg *middleware.Config) { cfg.Headers = middleware.HeadersDraft6 }),
		steps: []step{
			{request: inTeam("ann", "blue"), want: served(draft6("2;w=60, 3;w=3600, 4;w=3600", "2", "1", "30"))},
		},
	},
	{
		name: "settling corrects all levels",
		more: withLevels(settling(middleware.OnlyFailures), func(cfg *middleware.Config) {
			cfg.Levels[1].Cost = func(*http.Request) (int64, error) { return 2, nil }
		}),
		steps: []step{
			{request: inTeam("ann", "blue"), want: served(leveled("r=1;t=30", "r=2;t=1200", "r=2;t=900"))},
			{request: inTeam("ann", "blue"), want: served(leveled("r=1;t=30", "r=2;t=1200", "r=2;t=900"))},
			{
				request: request{header: http.Header{"X-User": {"ann"}, "X-Team": {"blue"}, "X-Status": {"401"}}},
				want:    served(leveled("r=1;t=30", "r=2;t=1200", "r=2;t=900")).as(401),
			},
			{request: inTeam("ann", "blue"), want: served(leveled("r=0;t=30", "r=1;t=1200", "r=0;t=900"))},
		},
	},
	{
		name: "a request waits for the level without free units, and holds up no other request",
		more: withLevels(delaying(30 * time.Second)),
		steps: []step{
			{request: inTeam("ann", "blue"), want: served(leveled("r=1;t=30", "r=2;t=1200", "r=3;t=900"))},
			{request: inTeam("ann", "red"), want: served(leveled("r=0;t=30", "r=2;t=1200", "r=2;t=900"))},
			{takes: 30 * time.Second, request: inTeam("ann", "red"), want: served(leveled("r=0;t=30", "r=1;t=1170", "r=1;t=870"))},
			{request: inTeam("bob", "blue"), want: served(leveled("r=1;t=30", "r=1;t=1170", "r=0;t=870"))},
			{request: inTeam("cyd", "blue"), want: limited(`"everybody"`, "870", leveled("r=2;t=0", "r=1;t=1170", "r=0;t=870"))},
		},
	},
	{
		name: "only refusals by the key's own limits are penalised",
		more: func(t testing.TB, store weir.Store, cfg *middleware.Config) {
			withLevels()(t, store, cfg)
			penalty(2, 5*time.Minute)(t, store, cfg)
		},
		steps: []step{
			{request: inTeam("ann", "blue"), want: served(leveled("r=1;t=30", "r=2;t=1200", "r=3;t=900"))},
			{request: inTeam("bob", "blue"), want: served(leveled("r=1;t=30", "r=1;t=1200", "r=2;t=900"))},
			{request: inTeam("bob", "blue"), want: served(leveled("r=0;t=30", "r=0;t=1200", "r=1;t=900"))},
			{request: inTeam("ann", "blue"), want: limited(`"3-in-1h"`, "1200", leveled("r=1;t=30", "r=0;t=1200", "r=1;t=900"))},
			{request: inTeam("ann", "blue"), want: limited(`"3-in-1h"`, "1200", leveled("r=1;t=30", "r=0;t=1200", "r=1;t=900"))},
			{request: inTeam("ann", "blue"), want: limited(`"3-in-1h"`, "1200", leveled("r=1;t=30", "r=0;t=1200", "r=1;t=900"))},
			{request: inTeam("bob", "red"), want: limited(`"2-in-1m"`, "30", leveled("r=0;t=30", "r=3;t=0", "r=1;t=900"))},
			{request: inTeam("bob", "red"), want: abnormal("300", leveled("r=0;t=300", "r=3;t=0", "r=1;t=900"))},
			{request: inTeam("ann", "red"), want: served(leveled("r=0;t=30", "r=2;t=1200", "r=0;t=900"))},
		},
	},
	{
		name: "a refusal for longer by a wider level is not penalised",
		more: func(t testing.TB, store weir.Store, cfg *middleware.Config) {
			withLevels()(t, store, cfg)
			penalty(1, 5*time.Minute)(t, store, cfg)
		},
		steps: []step{
			{request: inTeam("ann", "blue"), want: served(leveled("r=1;t=30", "r=2;t=1200", "r=3;t=900"))},
			{request: inTeam("ann", "blue"), want: served(leveled("r=0;t=30", "r=1;t=1200", "r=2;t=900"))},
			{request: inTeam("bob", "blue"), want: served(leveled("r=1;t=30", "r=0;t=1200", "r=1;t=900"))},
			{request: inTeam("ann", "blue"), want: limited(`"2-in-1m","3-in-1h"`, "1200", leveled("r=0;t=30", "r=0;t=1200", "r=1;t=900"))},
			{request: inTeam("ann", "blue"), want: limited(`"2-in-1m","3-in-1h"`, "1200", leveled("r=0;t=30", "r=0;t=1200", "r=1;t=900"))},
			{request: inTeam("ann", "red"), want: abnormal("300", leveled("r=0;t=300", "r=3;t=0", "r=1;t=900"))},
		},
	},
	{
		name: "lists speak for all levels",
		more: withLevels(func(cfg *middleware.Config) {
			cfg.Lists = middleware.Lists{Allow: middleware.Keys("bob"), Block: middleware.Keys("mallory")}
		}),
		steps: []step{
			{request: inTeam("bob", "blue"), want: unlimited},
			{request: inTeam("mallory", "blue"), want: problem(http.StatusForbidden, blank(403, "The sender of the request is blocked."), nil)},
			{request: inTeam("ann", "blue"), want: served(leveled("r=1;t=30", "r=2;t=1200", "r=3;t=900"))},
		},
	},
	{
		name: "shadow decides on all levels and refuses nothing",
		more: withLevels(func(cfg *middleware.Config) { cfg.Shadow = true }),
		steps: []step{
			{request: inTeam("ann", "blue"), want: unlimited},
			{request: inTeam("ann", "blue"), want: unlimited},
			{request: inTeam("ann", "blue"), want: unlimited},
		},
	},
	{
		name:  "levels fail open",
		store: func() weir.Store { return &Counting{Store: failing(errSecret)()} },
		more:  withLevels(),
		steps: []step{{request: inTeam("ann", "blue"), want: unlimited}},
	},
	{
		name:  "levels fail closed",
		store: func() weir.Store { return &Counting{Store: failing(errSecret)()} },
		more:  withLevels(failClosed),
		steps: []step{{request: inTeam("ann", "blue"), want: unavailable}},
	},
}

// testLevels checks levels beyond the table of answers.
func testLevels(t *testing.T, mount Mount) {
	t.Run("one call of the store", func(t *testing.T) {
		t.Parallel()
		store := NewCounting()
		cfg := byUser(t, store, weir.PerMinute(2))
		withLevels()(t, store, &cfg)
		h := mustMount(t, mount, cfg, http.HandlerFunc(handler))
		for i := range 3 {
			do(t, h, inTeam("ann", "blue"))
			if n := store.Takes.Load(); n != int64(i)+1 {
				t.Errorf("%d decisions for %d requests", n, i+1)
			}
		}
	})
	t.Run("mounted twice, charged once", func(t *testing.T) {
		t.Parallel()
		store := NewCounting()
		cfg := byUser(t, store, weir.PerMinute(2))
		withLevels()(t, store, &cfg)
		outer := middleware.Config{Limiter: cfg.Levels[1].Limiter, Key: weir.KeyStatic("all")}
		h := mustMount(t, mount, outer, mustMount(t, mount, cfg, mustMount(t, mount, cfg, http.HandlerFunc(handler))))
		got := do(t, h, inTeam("ann", "blue"))
		if got.body != servedBody || store.Takes.Load() != 2 {
			t.Errorf("%+v after %d decisions, want 2", got, store.Takes.Load())
		}
		if want := `"everybody";q=4;w=3600 & "2-in-1m";q=2;w=60, "3-in-1h";q=3;w=3600`; got.header["RateLimit-Policy"] != want {
			t.Errorf("policies %s, want %s", got.header["RateLimit-Policy"], want)
		}
		if d, err := outer.Limiter.Peek(t.Context(), "all"); d.Remaining != 3 || err != nil {
			t.Errorf("%d remain of everybody's, %v", d.Remaining, err)
		}
	})
	t.Run("the refusing level is named", func(t *testing.T) {
		t.Parallel()
		var scopes []string
		cfg := middleware.Config{
			Limiter: NewLimiter(t, newStore(), weir.PerMinute(2)), Key: weir.KeyHeader("X-User"),
			OnLimited: func(w http.ResponseWriter, _ *http.Request, d weir.Decision) {
				scopes = append(scopes, d.Scope)
				w.WriteHeader(http.StatusTooManyRequests)
			},
		}
		withLevels()(t, newStore(), &cfg)
		h := mustMount(t, mount, cfg, http.HandlerFunc(handler))
		for _, q := range []request{
			inTeam("ann", "blue"), inTeam("ann", "blue"), inTeam("ann", "red"), inTeam("bob", "blue"), inTeam("bob", "blue"),
			inTeam("cyd", "red"), inTeam("dan", "red"),
		} {
			do(t, h, q)
		}
		if got := strings.Join(scopes, " "); got != "user team all" {
			t.Errorf("named %q", got)
		}
	})
	t.Run("every level has a partition key of its own", func(t *testing.T) {
		t.Parallel()
		cfg := byUser(t, newStore(), weir.PerMinute(2))
		cfg.PartitionSecret = []byte("0123456789abcdef")
		withLevels()(t, newStore(), &cfg)
		h := mustMount(t, mount, cfg, http.HandlerFunc(handler))
		partitions := func(q request) (list []string) {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, q.build(t))
			for _, item := range strings.Split(w.Header().Get("RateLimit"), ", ") {
				_, pk, _ := strings.Cut(item, ";pk=")
				list = append(list, pk)
			}
			return list
		}
		a, b := partitions(inTeam("ann", "blue")), partitions(inTeam("bob", "blue"))
		if len(a) != 3 || len(b) != 3 || a[0] == b[0] || a[1] != b[1] || a[2] != b[2] || a[0] == a[1] || a[1] == a[2] || a[0] == "" {
			t.Errorf("partitions %q and %q", a, b)
		}
	})
}
