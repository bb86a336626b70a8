package httpcases

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// unknown are the ways in which a request has no key. Each has its refusal, unless
// OnNoKey decides otherwise.
var unknown = []struct {
	name   string
	err    error // of the key function
	refuse int
	detail string
}{
	{"no identity", weir.ErrNoKey, 401, "The request does not say who it is from."},
	{"an empty key", nil, 401, "The request does not say who it is from."},
	{"a malformed identity", weir.ErrMalformedKey, 400, "The request says in no valid form, or more than once, who it is from."},
	{"a lookup that failed", errSecret, 500, "The request could not be checked against its limits."},
}

// testUnknown checks every decision of OnNoKey about every request without a key. The
// limiter fails open, which must not decide for OnNoKey.
func testUnknown(t *testing.T, mount Mount, open func(testing.TB) weir.Store) {
	const challenge = `Bearer realm="api"`
	all := func(a answer) [3]answer { return [3]answer{a, a, a} }
	shared, passed := [3]answer{first, second, third}, all(unlimited)
	for _, u := range unknown {
		refused := func(status int) [3]answer {
			p := problem(status, blank(status, u.detail), nil)
			if status == 401 {
				p.header["WWW-Authenticate"] = challenge
			}
			return all(p)
		}
		for name, tt := range map[string]struct {
			decide noKeyFunc
			want   [3]answer
		}{
			"by default":               {nil, refused(u.refuse)},
			"the zero value":           {always(middleware.NoKey{}), refused(u.refuse)},
			"400":                      {always(middleware.NoKey{Status: 400}), refused(400)},
			"401":                      {always(middleware.NoKey{Status: 401}), refused(401)},
			"403":                      {always(middleware.NoKey{Status: 403}), refused(403)},
			"429":                      {always(middleware.NoKey{Status: 429}), refused(429)},
			"500":                      {always(middleware.NoKey{Status: 500}), refused(500)},
			"503":                      {always(middleware.NoKey{Status: 503}), refused(503)},
			"unlimited":                {always(middleware.NoKey{Pass: true}), passed},
			"unlimited, not refused":   {always(middleware.NoKey{Pass: true, Status: 403}), passed},
			"anonymous":                {always(middleware.NoKey{Key: "(anonymous)"}), shared},
			"anonymous, not unlimited": {always(middleware.NoKey{Key: "(anonymous)", Pass: true, Status: 403}), shared},
		} {
			cfg := middleware.Config{Challenge: challenge}
			if tt.decide != nil {
				cfg.OnNoKey = func(r *http.Request, err error) middleware.NoKey {
					if want := cmp.Or(u.err, weir.ErrNoKey); !errors.Is(err, want) {
						t.Errorf("%s: asked about %v, want %v", u.name, err, want)
					}
					return tt.decide(r, err)
				}
			}
			t.Run(u.name+", "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { testPolicy(t, mount, open(t), cfg, u.err, tt.want) })
			})
		}
	}
}

// testPolicy sends three requests without a key, each from its own address, and one of
// ann.
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
		t.Errorf("OnError was called %d times for %v", told, err)
	}
}

// unknownCases are requests without a key that OnNoKey can't let pass, and mixtures with
// others.
var unknownCases = []testCase{
	{
		name: "a key function that is misconfigured fails whatever is decided",
		config: func(cfg *middleware.Config) {
			cfg.Key = weir.KeyHeader("X User")
			cfg.OnNoKey = always(middleware.NoKey{Pass: true})
		},
		steps: []step{{request: ann, want: broken}, {request: nobody, want: broken}},
	},
	{
		name: "a client that leaves while the key is looked up does not pass",
		config: func(cfg *middleware.Config) {
			cfg.Key = func(r *http.Request) (string, error) { return "", r.Context().Err() }
			cfg.OnNoKey = always(middleware.NoKey{Pass: true})
		},
		steps: []step{{request: request{ctx: cancelled}, want: ended}},
	},
	{
		name: "shadow refuses no request without a key",
		config: func(cfg *middleware.Config) {
			cfg.OnNoKey, cfg.Shadow, cfg.Challenge = always(middleware.NoKey{Status: 401}), true, "Bearer"
		},
		steps: []step{{request: nobody, want: unlimited}, {request: annAndBob, want: unlimited}},
	},
	{
		name: "all requests under the anonymous key share one limit",
		config: func(cfg *middleware.Config) {
			cfg.OnNoKey = always(middleware.NoKey{Key: "(anonymous)"})
		},
		steps: []step{
			{request: nobody, want: first}, {request: annAndBob, want: second}, {request: nobody, want: third},
			{request: annAndBob, want: third}, {request: ann, want: first},
		},
	},
	{
		name:   "a status that refuses nothing is a mistake",
		config: func(cfg *middleware.Config) { cfg.OnNoKey = always(middleware.NoKey{Status: 200}) },
		steps:  []step{{request: nobody, want: broken}, {request: ann, want: first}},
	},
}
