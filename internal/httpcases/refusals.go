package httpcases

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/weirtest"
)

var noStore = with(twoPerMinute("0", "30"), "Cache-Control", "no-store")

var refusalCases = []testCase{
	{
		name: "HEAD has the headers and no body",
		steps: []step{
			{request: ann, want: first},
			{request: ann, want: second},
			{request: request{method: http.MethodHead, user: "ann"}, want: answer{third.status, third.header, ""}},
			{request: request{method: http.MethodHead}, want: answer{unidentified.status, unidentified.header, ""}},
		},
	},
	{
		name: "a cost that never fits has no Retry-After",
		config: func(cfg *middleware.Config) {
			cfg.Cost = func(*http.Request) (int64, error) { return 3, nil }
		},
		steps: one(problem(http.StatusTooManyRequests, exceeded(`"2-in-1m"`, neverDetail), twoPerMinute("2", "0"))),
	},
	{
		name: "a paused key",
		store: deciding(store.Decision{
			Reason: weir.ReasonPaused, Limit: store.Per(2, time.Minute), Remaining: 2, RetryAfter: 90 * time.Second,
		}),
		steps: one(problem(http.StatusTooManyRequests, reduced("", `,"detail":"Requests are paused."`),
			with(twoPerMinute("2", "90"), "Retry-After", "90"))),
	},
	{
		name: "a handler of one's own",
		config: func(cfg *middleware.Config) {
			cfg.OnLimited = func(w http.ResponseWriter, r *http.Request, d weir.Decision) {
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(http.StatusServiceUnavailable)
				_, _ = fmt.Fprint(w, r.URL.Path, " ", d.Limit.Policy(), " ", d.RetryAfter)
			}
		},
		steps: []step{
			{request: ann, want: first},
			{request: ann, want: second},
			{request: ann, want: answer{
				http.StatusServiceUnavailable,
				with(with(noStore, "Retry-After", "30"), "Content-Type", "text/html"),
				"/things/7 2-in-1m 30s",
			}},
			{request: nobody, want: unidentified},
		},
	},
	{
		name: "a handler of one's own without a body",
		config: func(cfg *middleware.Config) {
			cfg.OnLimited = func(w http.ResponseWriter, _ *http.Request, _ weir.Decision) {
				w.WriteHeader(http.StatusTooManyRequests)
			}
		},
		steps: []step{
			{request: ann, want: first},
			{request: ann, want: second},
			{request: ann, want: answer{http.StatusTooManyRequests, with(noStore, "Retry-After", "30"), ""}},
		},
	},
	{
		name: "shadow refuses nothing and shows nothing",
		config: func(cfg *middleware.Config) {
			cfg.Shadow, cfg.Challenge = true, "Bearer"
			cfg.OnLimited = func(w http.ResponseWriter, _ *http.Request, _ weir.Decision) {
				_, _ = io.WriteString(w, "limited")
			}
		},
		steps: []step{
			{request: ann, want: unlimited},
			{request: ann, want: unlimited},
			{request: ann, want: unlimited},
			{request: nobody, want: unlimited},
			{request: annAndBob, want: unlimited},
		},
	},
	{
		name: "shadow of a broken store",
		config: func(cfg *middleware.Config) {
			cfg.Shadow, cfg.OnStoreFailure = true, middleware.FailClosed
		},
		store: failing(errSecret),
		steps: one(unlimited),
	},
}

var failureCases = []testCase{
	{name: "the store fails open", store: failing(errSecret), steps: one(unlimited)},
	{name: "the store fails closed", store: failing(errSecret), config: failClosed, steps: one(unavailable)},
	{
		name:  "a timeout of the store's own is a failure",
		store: failing(context.DeadlineExceeded), config: failClosed,
		steps: one(unavailable),
	},
	{
		name:  "a missing ability of a store is a mistake, not an outage",
		store: failing(weir.ErrUnsupported),
		steps: one(broken),
	},
	{
		name:  "the client left before",
		steps: []step{{request: request{user: "ann", ctx: cancelled}, want: ended}, {request: ann, want: first}},
	},
	{
		name:  "the client leaves while the store decides",
		store: stepping(weirtest.Block()),
		steps: []step{{takes: time.Second, request: request{user: "ann", ctx: shortly}, want: ended}},
	},
	{
		name:  "the client leaves while the store decides, closed",
		store: stepping(weirtest.Block()), config: failClosed,
		steps: []step{{takes: time.Second, request: request{user: "ann", ctx: shortly}, want: ended}},
	},
	{
		name: "the client leaves while its plan is looked up",
		config: func(cfg *middleware.Config) {
			cfg.Limits = func(r *http.Request) ([]weir.Limit, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
		},
		steps: []step{{takes: time.Second, request: request{user: "ann", ctx: shortly}, want: ended}},
	},
	{
		name: "the client leaves while its key is looked up",
		config: func(cfg *middleware.Config) {
			cfg.Key = func(r *http.Request) (string, error) {
				<-r.Context().Done()
				return "", r.Context().Err()
			}
		},
		steps: []step{{takes: time.Second, request: request{ctx: shortly}, want: ended}},
	},
}
