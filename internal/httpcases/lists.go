package httpcases

import (
	"net/http"
	"strings"

	"github.com/goweir/weir/middleware"
)

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
		name: "a key of any length is listed as it is",
		config: func(cfg *middleware.Config) {
			cfg.Key = func(r *http.Request) (string, error) { return strings.Repeat(r.Header.Get("X-User"), 400), nil }
			cfg.Lists = middleware.Lists{Allow: middleware.Keys(strings.Repeat("bob", 400)), Block: middleware.Keys(strings.Repeat("eve", 400))}
		},
		steps: []step{
			{request: request{user: "eve"}, want: forbidden},
			{request: bob, want: unlimited},
			{request: ann, want: first},
			{request: ann, want: second},
			{request: ann, want: third},
			{request: request{user: "amy"}, want: first},
		},
	},
	{
		name: "the anonymous key can be blocked",
		config: func(cfg *middleware.Config) {
			cfg.OnNoKey = always(middleware.NoKey{Key: "(anonymous)"})
			cfg.Lists.Block = middleware.Keys("(anonymous)")
		},
		steps: []step{{request: nobody, want: forbidden}, {request: ann, want: first}},
	},
	{
		name: "shadow blocks no key",
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
