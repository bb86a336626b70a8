package weirgrpc_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/goweir/weir"
	weirgrpc "github.com/goweir/weir/adapters/grpc"
	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/middleware"
)

func mustServer(t testing.TB, cfg middleware.Config) *weirgrpc.Server {
	t.Helper()
	s, err := weirgrpc.NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// unary has the servers limit unary calls, the first outermost.
func unary(servers ...*weirgrpc.Server) []grpc.ServerOption {
	var opts []grpc.ServerOption
	for _, s := range servers {
		opts = append(opts, grpc.ChainUnaryInterceptor(s.Unary))
	}
	return opts
}

func invoke(ctx context.Context, cc *grpc.ClientConn, message string, opts ...grpc.CallOption) error {
	return cc.Invoke(ctx, say, wrapperspb.String(message), new(wrapperspb.StringValue), opts...)
}

// violation is what is told of a limit that refuses.
func violation(policy string) *errdetails.QuotaFailure_Violation {
	return &errdetails.QuotaFailure_Violation{
		Subject: "limiter:api", Description: "The call is over the limit " + policy + ".", QuotaId: policy,
	}
}

// TestRefusals checks what a refused call is told, to the letter.
func TestRefusals(t *testing.T) {
	t.Parallel()
	const secret = "dial tcp 10.0.0.7:6379"
	const over = "Request cannot be satisfied as assigned quota has been exceeded"
	away := func(cfg *middleware.Config) {
		cfg.Limiter = newLimiter(t, storeFunc(func() (weir.Decision, error) { return weir.Decision{}, errors.New(secret) }), weir.PerHour(1))
	}
	deciding := func(d weir.Decision) func(*middleware.Config) {
		return func(cfg *middleware.Config) {
			cfg.Limiter = newLimiter(t, storeFunc(func() (weir.Decision, error) { return d, nil }), d.Limit)
		}
	}
	tests := []struct {
		name     string
		config   []func(*middleware.Config)
		md       []string // beside x-user: ann
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
			config:  []func(*middleware.Config){deciding(weir.Decision{Reason: weir.Paused, Limit: weir.PerHour(1), RetryAfter: 90 * time.Second})},
			message: "Requests are paused. Retry after 1m30s.",
		},
		{
			name: "decided without the store", code: codes.ResourceExhausted, retry: time.Second,
			config:   []func(*middleware.Config){deciding(weir.Decision{Reason: weir.Limited, Degraded: true, Limit: weir.PerHour(1), RetryAfter: time.Second})},
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
			message: "The request says more than once who it is from.",
		},
		{
			name: "a malformed identity", md: []string{"authorization", "Bearer a b"}, code: codes.InvalidArgument,
			config:  []func(*middleware.Config){func(cfg *middleware.Config) { cfg.Key = weir.KeyBearer(nil) }},
			message: "The request says more than once who it is from.",
		},
		{
			name: "blocked", code: codes.PermissionDenied,
			config:  []func(*middleware.Config){func(cfg *middleware.Config) { cfg.Lists.Block = middleware.Keys("ann") }},
			message: "The request is from somebody who is blocked.",
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

// storeFunc is a store that decides by a function.
type storeFunc func() (weir.Decision, error)

func (f storeFunc) Take(context.Context, weir.Request) (weir.Decision, error) { return f() }

// TestRetryInfoIsExact checks that waiting just as long succeeds, and that a
// microsecond less does not.
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

func TestConfig(t *testing.T) {
	t.Parallel()
	if s, err := weirgrpc.NewServer(middleware.Config{}); s != nil || !errors.Is(err, weir.ErrConfig) {
		t.Errorf("NewServer returned %v, %v", s, err)
	}
	cfg := config(t, weir.PerHour(1))
	cfg.OnLimited = func(http.ResponseWriter, *http.Request, weir.Decision) {}
	var mistake *weir.ConfigError
	if s, err := weirgrpc.NewServer(cfg); s != nil || !errors.As(err, &mistake) || mistake.Field != "middleware.Config.OnLimited" {
		t.Errorf("NewServer returned %v, %v", s, err)
	}
}

// TestTwice mounts two servers' interceptors on the way of one call.
func TestTwice(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name         string
		outer, inner func(*middleware.Config)
		takes        int64
	}{
		{name: "the same limiter and key", takes: 1},
		{name: "another key", inner: func(cfg *middleware.Config) { cfg.Key = weir.KeyHeader("x-team") }, takes: 2},
		{name: "skipped outside", outer: func(cfg *middleware.Config) { cfg.Skip = func(*http.Request) bool { return true } }, takes: 1},
		{name: "in shadow outside", outer: func(cfg *middleware.Config) { cfg.Shadow = true }, takes: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store := httpcases.NewCounting()
			outer := middleware.Config{Limiter: newLimiter(t, store, weir.PerMinute(2)), Key: weir.KeyHeader("x-user")}
			inner := outer
			if tt.outer != nil {
				tt.outer(&outer)
			}
			if tt.inner != nil {
				tt.inner(&inner)
			}
			a, b := mustServer(t, outer), mustServer(t, inner)
			cc := start(t, &talk{}, append(unary(a, b), grpc.ChainStreamInterceptor(a.Stream, b.Stream)))
			if err := invoke(as(t.Context(), "ann", "x-team", "blue"), cc, ""); err != nil || store.Takes.Load() != tt.takes {
				t.Errorf("unary: %v after %d decisions, want %d", err, store.Takes.Load(), tt.takes)
			}
			store.Takes.Store(0)
			if got, err := hear(as(t.Context(), "bob", "x-team", "red"), cc); got != 3 || err != nil || store.Takes.Load() != tt.takes {
				t.Errorf("stream: %d messages, %v after %d decisions, want %d", got, err, store.Takes.Load(), tt.takes)
			}
		})
	}
	t.Run("metadata adds up", func(t *testing.T) {
		t.Parallel()
		a, b := config(t, weir.PerHour(2)), config(t, weir.PerDay(3))
		cc := start(t, &talk{}, unary(mustServer(t, a), mustServer(t, b)))
		var md metadata.MD
		err := invoke(as(t.Context(), "ann"), cc, "", grpc.Header(&md))
		if got := strings.Join(md.Get("ratelimit"), " & "); err != nil || got != `"2-in-1h";r=1;t=1800 & "3-in-1d";r=2;t=28800` {
			t.Errorf("%v: %s", err, got)
		}
	})
}

// TestSettle checks that calls are charged by how they end.
func TestSettle(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		md   []string
		want middleware.Outcome
	}{
		{"served", nil, middleware.Outcome{Status: 200, Bytes: 6, Cost: 1}},
		{"failed", []string{"x-code", "5"}, middleware.Outcome{Status: 404, Cost: 1}},
		{"failed inside", []string{"x-code", "13"}, middleware.Outcome{Status: 500, Cost: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []middleware.Outcome
			cfg := config(t, weir.PerHour(1))
			cfg.Settle = func(_ *http.Request, o middleware.Outcome) int64 { got = append(got, o); return 0 }
			s := mustServer(t, cfg)
			cc := start(t, &talk{}, append(unary(s), grpc.ChainStreamInterceptor(s.Stream)))
			ctx := as(t.Context(), "ann", tt.md...)
			_ = invoke(ctx, cc, "")
			_, _ = hear(ctx, cc) // which sends three messages before it fails
			stream := tt.want
			stream.Bytes = 18
			if len(got) != 2 || got[0] != tt.want || got[1] != stream {
				t.Errorf("outcomes %+v, want %+v and %+v", got, tt.want, stream)
			}
		})
	}
	t.Run("a panic is a failure", func(t *testing.T) {
		t.Parallel()
		cfg := config(t, weir.PerHour(1))
		cfg.Settle = middleware.OnlySuccesses
		s := mustServer(t, cfg)
		ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs("x-user", "ann"))
		for range 2 {
			func() {
				defer func() { _ = recover() }()
				_, err := s.Unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: say}, func(context.Context, any) (any, error) { panic("broken") })
				t.Errorf("not reached: %v", err)
			}()
		}
	})
}

// TestMessageCost checks that a call may cost by what it asks for.
func TestMessageCost(t *testing.T) {
	t.Parallel()
	cfg := config(t, weir.PerHour(10))
	cfg.Cost = func(r *http.Request) (int64, error) {
		return int64(len(weirgrpc.Message(r).(*wrapperspb.StringValue).GetValue())), nil
	}
	cc := start(t, &talk{}, unary(mustServer(t, cfg)))
	for _, tt := range []struct {
		message string
		want    codes.Code
	}{{"seven..", codes.OK}, {"four", codes.ResourceExhausted}, {"two", codes.OK}} {
		if err := invoke(as(t.Context(), "ann"), cc, tt.message); status.Code(err) != tt.want {
			t.Errorf("%s: %v", tt.message, err)
		}
	}
}

func TestInfrastructure(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/grpc.health.v1.Health/Check":                                   true,
		"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo":      true,
		"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": true,
		"/grpc.health.v1.HealthCare/Check":                               false,
		"/weir.test.Talk/Say":                                            false,
		"/api/grpc.health.v1.Health/Check":                               false,
	} {
		cfg := config(t, weir.PerHour(1))
		cfg.Skip = weirgrpc.Infrastructure
		_, err := mustServer(t, cfg).Unary(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: path},
			func(context.Context, any) (any, error) { return nil, nil })
		if passed := err == nil; passed != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}
