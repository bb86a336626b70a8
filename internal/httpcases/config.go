package httpcases

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/weirtest"
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

func newStore() weir.Store {
	s, err := localstore.New(localstore.Config{})
	if err != nil {
		panic(err) // the zero Config is valid
	}
	return s
}

// Always is a store that allows everything, for benchmarks of everything but the store.
type Always struct{}

// Take implements weir.Store.
func (Always) Take(_ context.Context, req store.Request) (store.Decision, error) {
	l := req.Charges[0].Limit
	return store.Decision{Allowed: true, Limit: l, Remaining: l.Max() - 1, ResetAfter: time.Second}, nil
}

// Counting is a store that counts its decisions.
type Counting struct {
	weir.Store
	Takes atomic.Int64
}

// NewCounting returns a store that limits and counts.
func NewCounting() *Counting { return &Counting{Store: newStore()} }

// Take implements weir.Store.
func (c *Counting) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	c.Takes.Add(1)
	return c.Store.Take(ctx, req)
}

// errSecret is a failure whose text no client may read.
var errSecret = errors.New("dial tcp 10.0.0.7:6379: connection refused")

// stepping returns a function for stores whose calls all take one step.
func stepping(step weirtest.Step) func() weir.Store {
	return func() weir.Store {
		s := weirtest.NewStore(newStore())
		s.Always(step)
		return s
	}
}

func failing(err error) func() weir.Store { return stepping(weirtest.Fail(err)) }

func deciding(d store.Decision) func() weir.Store { return stepping(weirtest.Decide(d)) }
