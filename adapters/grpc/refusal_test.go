package weirgrpc_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// violation is the expected detail about a limit that refuses.
func violation(policy string) *errdetails.QuotaFailure_Violation {
	return &errdetails.QuotaFailure_Violation{
		Subject: "limiter:api", Description: "The call is over the limit " + policy + ".", QuotaId: policy,
	}
}

// TestRefusals checks the status and the details of refused calls, to the letter.
func TestRefusals(t *testing.T) {
	t.Parallel()
	const secret = "dial tcp 10.0.0.7:6379"
	const over = "Request cannot be satisfied as assigned quota has been exceeded"
	away := func(cfg *middleware.Config) {
		cfg.Limiter = newLimiter(t, storeFunc(func() (store.Decision, error) { return store.Decision{}, errors.New(secret) }), weir.PerHour(1))
	}
	deciding := func(d store.Decision) func(*middleware.Config) {
		return func(cfg *middleware.Config) {
			cfg.Limiter = newLimiter(t, storeFunc(func() (store.Decision, error) { return d, nil }), weir.Limit(d.Limit))
		}
	}
	tests := []struct {
		name     string
		config   []func(*middleware.Config)
		md       []string // besides x-user: ann
		code     codes.Code
		message  string
		retry    time.Duration
		violated []string
	}{
		{
			name: "over two limits", code: codes.ResourceExhausted, retry: time.Hour,
			config: []func(*middleware.Config){func(cfg *middleware.Config) {
				cfg.Limiter = newLimiter(t, newStore(t), weir.PerMinute(1), weir.PerHour(1).WithName("hourly"))
			}},
			message:  over + " (1-in-1m, hourly). Retry after 1h0m0s.",
			violated: []string{"1-in-1m", "hourly"},
		},
		{
			name: "to the microsecond", code: codes.ResourceExhausted, retry: 333334 * time.Microsecond,
			config: []func(*middleware.Config){func(cfg *middleware.Config) {
				cfg.Limiter = newLimiter(t, newStore(t), weir.PerSecond(3).WithBurst(1))
			}},
			message: over + " (3-in-1s). Retry after 333.334ms.", violated: []string{"3-in-1s"},
		},
		{
			name: "never", code: codes.ResourceExhausted,
			config: []func(*middleware.Config){func(cfg *middleware.Config) {
				cfg.Cost = func(*http.Request) (int64, error) { return 2, nil }
			}},
			message:  "The request costs more than a limit admits at once. Repeating it does not help (1-in-1h).",
			violated: []string{"1-in-1h"},
		},
		{
			name: "paused", code: codes.ResourceExhausted, retry: 90 * time.Second,
			config:  []func(*middleware.Config){deciding(store.Decision{Reason: weir.ReasonPaused, Limit: store.Per(1, time.Hour), RetryAfter: 90 * time.Second})},
			message: "Requests are paused. Retry after 1m30s.",
		},
		{
			name: "decided without the store", code: codes.ResourceExhausted, retry: time.Second,
			config:   []func(*middleware.Config){deciding(store.Decision{Reason: weir.ReasonLimited, Degraded: true, Limit: store.Per(1, time.Hour), RetryAfter: time.Second})},
			message:  "Request cannot be satisfied due to temporary server capacity constraints (1-in-1h). Retry after 1s.",
			violated: []string{"1-in-1h"},
		},
		{
			name: "no identity", md: []string{"x-user", ""}, code: codes.Unauthenticated,
			config:  []func(*middleware.Config){func(cfg *middleware.Config) { cfg.Key = weir.KeyHeader("x-nobody") }},
			message: "The request does not say who it is from.",
		},
		{
			name: "two identities", md: []string{"x-user", "bob"}, code: codes.InvalidArgument,
			message: "The request says in no valid form, or more than once, who it is from.",
		},
		{
			name: "a malformed identity", md: []string{"authorization", "Bearer a b"}, code: codes.InvalidArgument,
			config:  []func(*middleware.Config){func(cfg *middleware.Config) { cfg.Key = weir.KeyBearer(nil) }},
			message: "The request says in no valid form, or more than once, who it is from.",
		},
		{
			name: "blocked", code: codes.PermissionDenied,
			config:  []func(*middleware.Config){func(cfg *middleware.Config) { cfg.Lists.Block = middleware.Keys("ann") }},
			message: "The sender of the request is blocked.",
		},
		{
			name: "no store, closed", code: codes.Unavailable,
			config:  []func(*middleware.Config){away, func(cfg *middleware.Config) { cfg.OnStoreFailure = middleware.FailClosed }},
			message: "The request cannot be checked against its limits right now.",
		},
		{
			name: "the key function fails", code: codes.Internal,
			config: []func(*middleware.Config){func(cfg *middleware.Config) {
				cfg.Key = func(*http.Request) (string, error) { return "", errors.New(secret) }
			}},
			message: "The request could not be checked against its limits.",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg := config(t, weir.PerHour(1))
				for _, f := range tt.config {
					f(&cfg)
				}
				cc := start(t, &talk{}, unary(mustServer(t, cfg)))
				ctx := as(t.Context(), "ann", tt.md...)
				var md metadata.MD
				err := invoke(ctx, cc, "")
				if err == nil {
					err = invoke(ctx, cc, "", grpc.Header(&md))
				}
				if got := status.Convert(err); got.Code() != tt.code || got.Message() != tt.message {
					t.Errorf("got %v: %s\nwant %v: %s", got.Code(), got.Message(), tt.code, tt.message)
				}
				if got := detail[*errdetails.RetryInfo](err).GetRetryDelay().AsDuration(); got != tt.retry {
					t.Errorf("RetryInfo %v, want %v", got, tt.retry)
				}
				violations := detail[*errdetails.QuotaFailure](err).GetViolations()
				if len(violations) != len(tt.violated) {
					t.Fatalf("violations %v, want %v", violations, tt.violated)
				}
				for i, policy := range tt.violated {
					if got, want := violations[i].String(), violation(policy).String(); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
						t.Errorf("violation %s, want %s", got, want)
					}
				}
			})
		})
	}
}

// The violation names the limiter of the level that refuses.
func TestViolatedLevel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := config(t, weir.PerHour(3))
		store := newStore(t)
		for i, level := range []weir.Config{
			{Name: "api", Limits: []weir.Limit{weir.PerHour(3)}},
			{Name: "org", Limits: []weir.Limit{weir.PerMinute(2)}},
			{Name: "everyone", Limits: []weir.Limit{weir.PerDay(2)}},
		} {
			level.Store = store
			limiter, err := weir.New(level)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				cfg.Limiter = limiter
				continue
			}
			cfg.Levels = append(cfg.Levels, middleware.Level{Limiter: limiter, Key: weir.KeyStatic("all")})
		}
		cc := start(t, &talk{}, unary(mustServer(t, cfg)))
		ctx := as(t.Context(), "ann")
		var err error
		for range 3 {
			err = invoke(ctx, cc, "")
		}
		var got []string
		for _, v := range detail[*errdetails.QuotaFailure](err).GetViolations() {
			got = append(got, v.GetSubject()+" "+v.GetQuotaId())
		}
		if want := "limiter:org 2-in-1m, limiter:everyone 2-in-1d"; strings.Join(got, ", ") != want {
			t.Errorf("violations %v, want %s", got, want)
		}
	})
}

// TestViolatedPlan checks that violations name the level of a plan's limits, whatever the
// limits are called.
func TestViolatedPlan(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		plan []weir.Limit
		want string
	}{
		{"the name of another level's", []weir.Limit{weir.PerHour(3).WithName("hourly").WithBurst(1)}, "limiter:org org:hourly"},
		{"names that no limiter has", []weir.Limit{weir.PerDay(1).WithName("gold-day"), weir.PerMinute(1).WithName("gold")}, "limiter:org gold-day, limiter:org gold"},
		{"both levels", []weir.Limit{weir.PerHour(3).WithName("gold")}, "limiter:api hourly, limiter:org gold"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newStore(t)
				cfg := config(t, weir.PerHour(3))
				cfg.Limiter = newLimiter(t, store, weir.PerHour(3).WithName("hourly"))
				org, err := weir.New(weir.Config{Name: "org", Store: store, Limits: []weir.Limit{weir.PerHour(100)}})
				if err != nil {
					t.Fatal(err)
				}
				cfg.Levels = []middleware.Level{{
					Limiter: org, Key: weir.KeyStatic("acme"),
					Limits: func(*http.Request) ([]weir.Limit, error) { return tt.plan, nil },
				}}
				cc := start(t, &talk{}, unary(mustServer(t, cfg)))
				ctx := as(t.Context(), "ann")
				for range 4 {
					err = invoke(ctx, cc, "")
				}
				var got []string
				for _, v := range detail[*errdetails.QuotaFailure](err).GetViolations() {
					got = append(got, v.GetSubject()+" "+v.GetQuotaId())
				}
				if strings.Join(got, ", ") != tt.want {
					t.Errorf("violations %v, want %s", got, tt.want)
				}
			})
		})
	}
}

// storeFunc is a store that decides by a function.
type storeFunc func() (store.Decision, error)

func (f storeFunc) Take(context.Context, store.Request) (store.Decision, error) { return f() }

// TestRetryInfoIsExact checks that a call succeeds after exactly the RetryInfo, and not a
// microsecond before.
func TestRetryInfoIsExact(t *testing.T) {
	t.Parallel()
	for _, limit := range []weir.Limit{
		weir.PerSecond(3), weir.Per(7, 11*time.Second).By(weir.SlidingWindow), weir.Per(2, time.Minute).By(weir.SlidingCounter),
		weir.PerMinute(5).By(weir.FixedWindow), weir.PerHour(2).By(weir.AlignedWindow),
	} {
		t.Run(limit.Policy(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cc := start(t, &talk{}, unary(mustServer(t, config(t, limit))))
				ctx := as(t.Context(), "ann")
				time.Sleep(123456 * time.Microsecond)
				for range 3 {
					var err error
					for err == nil {
						err = invoke(ctx, cc, "")
					}
					wait := detail[*errdetails.RetryInfo](err).GetRetryDelay().AsDuration()
					time.Sleep(wait - time.Microsecond)
					if err := invoke(ctx, cc, ""); status.Code(err) != codes.ResourceExhausted {
						t.Errorf("before %v: %v", wait, err)
					}
					time.Sleep(time.Microsecond)
					if err := invoke(ctx, cc, ""); err != nil {
						t.Errorf("after %v: %v", wait, err)
					}
				}
			})
		})
	}
}
