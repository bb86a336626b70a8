package httpcases

import (
	"errors"
	"net/http"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

var identityCases = []testCase{
	{
		name: "two users behind one IP are independent",
		steps: []step{
			{request: request{user: "ann", remote: "192.0.2.1:1"}, want: first},
			{request: request{user: "ann", remote: "192.0.2.1:2"}, want: second},
			{request: request{user: "ann", remote: "192.0.2.1:3"}, want: third},
			{request: request{user: "bob", remote: "192.0.2.1:4"}, want: first},
		},
	},
	{
		name: "one user on two IPs is one",
		steps: []step{
			{request: request{user: "ann", remote: "192.0.2.1:1"}, want: first},
			{request: request{user: "ann", remote: "198.51.100.1:1"}, want: second},
			{request: request{user: "ann", remote: "[2001:db8::1]:1"}, want: third},
		},
	},
	{
		name: "a user without a name is refused, never counted by IP",
		steps: []step{
			{request: nobody, want: unidentified},
			{request: request{user: "  "}, want: unidentified},
			{request: request{user: "ann"}, want: first},
		},
	},
	{
		name:   "the 401 carries the challenge",
		config: func(cfg *middleware.Config) { cfg.Challenge = `Bearer realm="api"` },
		steps: []step{{
			request: nobody,
			want:    answer{unidentified.status, with(unidentified.header, "WWW-Authenticate", `Bearer realm="api"`), unidentified.body},
		}},
	},
	{
		name:   "no key, unlimited",
		config: func(cfg *middleware.Config) { cfg.OnNoKey = only(weir.ErrNoKey, middleware.NoKey{Pass: true}) },
		steps: []step{
			{request: nobody, want: unlimited},
			{request: nobody, want: unlimited},
			{request: nobody, want: unlimited},
			{request: ann, want: first},
			{request: annAndBob, want: ambiguous},
		},
	},
	{
		name: "no key, counted together",
		config: func(cfg *middleware.Config) {
			cfg.OnNoKey = only(weir.ErrNoKey, middleware.NoKey{Key: "(anonymous)"})
		},
		steps: []step{
			{request: request{remote: "192.0.2.1:1"}, want: first},
			{request: request{remote: "198.51.100.1:1"}, want: second},
			{request: nobody, want: third},
			{request: ann, want: first},
			{request: annAndBob, want: ambiguous},
		},
	},
	{
		name: "the key function fails",
		config: func(cfg *middleware.Config) {
			cfg.Key = func(*http.Request) (string, error) { return "ann", errSecret }
			cfg.OnNoKey = only(weir.ErrNoKey, middleware.NoKey{Pass: true})
		},
		steps: []step{{request: ann, want: broken}},
	},
	{
		name: "errors of the key function may be wrapped",
		config: func(cfg *middleware.Config) {
			cfg.Key = func(r *http.Request) (string, error) {
				if r.Header.Get("X-User") == "" {
					return "", errors.Join(errSecret, weir.ErrNoKey)
				}
				return "", errors.Join(errSecret, weir.ErrMalformedKey)
			}
		},
		steps: []step{{request: nobody, want: unidentified}, {request: ann, want: ambiguous}},
	},
	{
		name:   "API keys",
		config: func(cfg *middleware.Config) { cfg.Key = weir.KeyAPIKey("X-API-Key", []byte("secret")) },
		steps: []step{
			{request: request{header: http.Header{"X-Api-Key": {"k1"}}}, want: first},
			{request: request{header: http.Header{"X-Api-Key": {"k2"}}}, want: first},
			{request: request{header: http.Header{"X-Api-Key": {"k1"}}}, want: second},
			{request: request{header: http.Header{"X-Api-Key": {"k1", "k2"}}}, want: ambiguous},
			{request: ann, want: unidentified},
		},
	},
	{
		name: "used units come back",
		steps: []step{
			{request: ann, want: first},
			{request: ann, want: second},
			{after: 30*time.Second - time.Microsecond, request: ann, want: problem(http.StatusTooManyRequests,
				exceeded(`"2-in-1m"`), with(twoPerMinute("0", "1"), "Retry-After", "1"))},
			{after: time.Microsecond, request: ann, want: second},
			{request: bob, want: first},
		},
	},
}
