package httpcases

import (
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

func settling(f settleFunc) func(*middleware.Config) {
	return func(cfg *middleware.Config) { cfg.Settle = f }
}

type settleFunc = func(*http.Request, middleware.Outcome) int64

func asCharged(_ *http.Request, o middleware.Outcome) int64 { return o.Cost }

func delaying(d time.Duration) func(*middleware.Config) {
	return func(cfg *middleware.Config) { cfg.Delay = middleware.Delay{Max: d, MaxWaiting: 10} }
}

func style(s middleware.HeaderStyle) func(*middleware.Config) {
	return func(cfg *middleware.Config) { cfg.Headers = s }
}

func xStyle(cfg *middleware.Config) { cfg.Headers = middleware.HeadersX }

func byPlan(cfg *middleware.Config) {
	cfg.Limits = func(r *http.Request) ([]weir.Limit, error) {
		plan := r.Header.Get("X-Plan")
		if plan == "lost" {
			return nil, errSecret
		}
		return plans[plan], nil
	}
}

var plans = map[string][]weir.Limit{
	"free":    {weir.PerMinute(1).WithName("free")},
	"pro":     {weir.PerSecond(10).WithName("pro"), weir.PerDay(1000).WithName("pro-day")},
	"invalid": {{Rate: 1}},
	"empty":   {},
}

func costHeader(cfg *middleware.Config) {
	cfg.Cost = func(r *http.Request) (int64, error) {
		return strconv.ParseInt(r.Header.Get("X-Cost"), 10, 64)
	}
}

func penalty(k int64, d time.Duration) func(testing.TB, weir.Store, *middleware.Config) {
	return func(t testing.TB, store weir.Store, cfg *middleware.Config) {
		counter := named(t, store, "refusals", weir.PerMinute(k).By(weir.FixedWindow))
		cfg.Penalty = middleware.Penalty{Limiter: counter, For: d}
	}
}

func failClosed(cfg *middleware.Config) { cfg.OnStoreFailure = middleware.FailClosed }

type noKeyFunc = func(*http.Request, error) middleware.NoKey

// always decides alike about all requests without a key.
func always(instead middleware.NoKey) noKeyFunc {
	return func(*http.Request, error) middleware.NoKey { return instead }
}

// only decides about one error, and leaves the others to the default.
func only(err error, instead middleware.NoKey) noKeyFunc {
	return func(_ *http.Request, e error) middleware.NoKey {
		if errors.Is(e, err) {
			return instead
		}
		return middleware.NoKey{}
	}
}

func health(r *http.Request) bool { return r.Header.Get("X-Health") != "" }
