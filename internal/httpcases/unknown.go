package httpcases

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// unknown are the ways in which a request has no key, with the field that says
// what it then gets.
var unknown = []struct {
	name   string
	err    error // of the key function
	field  func(*middleware.Config) *middleware.NoKey
	refuse int // the status of NoKeyRefuse
	detail string
}{
	{"no identity", weir.ErrNoKey, noKey, 401, "The request does not say who it is from."},
	{"an empty key", nil, noKey, 401, "The request does not say who it is from."},
	{"two identities", weir.ErrAmbiguousKey, badKey, 400, "The request says more than once who it is from."},
	{"a malformed identity", weir.ErrMalformedKey, badKey, 400, "The request says in no valid form who it is from."},
	{"a lookup that failed", errSecret, keyFailure, 500, "The request could not be checked against its limits."},
}

func noKey(cfg *middleware.Config) *middleware.NoKey      { return &cfg.NoKey }
func badKey(cfg *middleware.Config) *middleware.NoKey     { return &cfg.BadKey }
func keyFailure(cfg *middleware.Config) *middleware.NoKey { return &cfg.KeyFailure }

// testUnknown checks every policy for every request without a key. Each time all
// other policies are set to let such requests pass, and so is the store's: none
// of them may answer for this one.
func testUnknown(t *testing.T, mount Mount, open func(testing.TB) weir.Store) {
	const challenge = `Bearer realm="api"`
	statuses := map[middleware.NoKey]int{
		middleware.NoKeyUnauthorized: 401, middleware.NoKeyForbidden: 403, middleware.NoKeyTooMany: 429,
		middleware.NoKeyError: 500, middleware.NoKeyUnavailable: 503,
	}
	for _, u := range unknown {
		for policy := middleware.NoKeyRefuse; policy <= middleware.NoKeyUnavailable; policy++ {
			cfg := middleware.Config{NoKey: middleware.NoKeyUnlimited, BadKey: middleware.NoKeyUnlimited, KeyFailure: middleware.NoKeyUnlimited}
			*u.field(&cfg) = policy
			want := [3]answer{unlimited, unlimited, unlimited}
			status := statuses[policy]
			switch policy {
			case middleware.NoKeyRefuse:
				status = u.refuse
			case middleware.NoKeyAnonymous:
				cfg.AnonymousKey = "(anonymous)"
				want = [3]answer{first, second, third}
			}
			if status > 0 {
				refused := problem(status, blank(status, u.detail), nil)
				if status == 401 {
					cfg.Challenge = challenge
					refused.header["WWW-Authenticate"] = challenge
				}
				want = [3]answer{refused, refused, refused}
			}
			t.Run(fmt.Sprint(u.name, ", policy ", policy), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { testPolicy(t, mount, open(t), cfg, u.err, want) })
			})
		}
	}
}

// testPolicy sends three requests of which no key is known, from an address
// each, and one of ann.
func testPolicy(t *testing.T, mount Mount, store weir.Store, cfg middleware.Config, err error, want [3]answer) {
	told := 0
	cfg.Limiter = NewLimiter(t, store, weir.PerMinute(2))
	cfg.Key = func(r *http.Request) (string, error) {
		if user := r.Header.Get("X-User"); user != "" {
			return user, nil
		}
		return "", err
	}
	cfg.OnError = func(*http.Request, error) { told++ }
	h := mustMount(t, mount, cfg, http.HandlerFunc(handler))
	for i, w := range want {
		compare(t, i, do(t, h, request{remote: fmt.Sprintf("192.0.2.%d:1", i)}), w)
	}
	compare(t, len(want), do(t, h, ann), first)
	if failed := err == errSecret; (told == len(want)) != failed || told > 0 && !failed {
		t.Errorf("OnError was told %d times of %v", told, err)
	}
}

// unknownCases are what no policy makes good, and what policies have in common.
var unknownCases = []testCase{
	{
		name: "a key function that is misconfigured fails whatever the policies say",
		config: func(cfg *middleware.Config) {
			cfg.Key = weir.KeyHeader("X User")
			passUnknown(cfg)
		},
		steps: []step{{request: ann, want: broken}, {request: nobody, want: broken}},
	},
	{
		name: "who leaves while the key is looked up does not pass",
		config: func(cfg *middleware.Config) {
			cfg.Key = func(r *http.Request) (string, error) { return "", r.Context().Err() }
			passUnknown(cfg)
		},
		steps: []step{{request: request{ctx: cancelled}, want: ended}},
	},
	{
		name: "shadow refuses nobody without a key",
		config: func(cfg *middleware.Config) {
			cfg.NoKey, cfg.BadKey, cfg.Shadow = middleware.NoKeyTooMany, middleware.NoKeyUnauthorized, true
			cfg.Challenge = "Bearer"
		},
		steps: []step{{request: nobody, want: unlimited}, {request: annAndBob, want: unlimited}},
	},
	{
		name: "all who share the anonymous key share one limit",
		config: func(cfg *middleware.Config) {
			cfg.NoKey, cfg.BadKey, cfg.AnonymousKey = middleware.NoKeyAnonymous, middleware.NoKeyAnonymous, "(anonymous)"
		},
		steps: []step{
			{request: nobody, want: first}, {request: annAndBob, want: second}, {request: nobody, want: third},
			{request: annAndBob, want: third}, {request: ann, want: first},
		},
	},
	{
		name: "a blocked anonymous key is blocked whoever shares it",
		config: func(cfg *middleware.Config) {
			cfg.KeyFailure, cfg.AnonymousKey = middleware.NoKeyAnonymous, "(anonymous)"
			cfg.Key = func(*http.Request) (string, error) { return "", errSecret }
			cfg.Lists.Block = middleware.Keys("(anonymous)")
		},
		steps: one(forbidden),
	},
}

func passUnknown(cfg *middleware.Config) {
	cfg.NoKey, cfg.BadKey, cfg.KeyFailure = middleware.NoKeyUnlimited, middleware.NoKeyUnlimited, middleware.NoKeyUnlimited
}
