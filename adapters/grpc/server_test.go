package weirgrpc_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
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

// unary returns the options that chain the servers' unary interceptors, the first
// outermost.
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

// TestZeroValues checks that a Server and a Client without a constructor fail calls, and
// panic nowhere.
func TestZeroValues(t *testing.T) {
	t.Parallel()
	s, c := new(weirgrpc.Server), new(weirgrpc.Client)
	served := start(t, &talk{}, []grpc.ServerOption{grpc.UnaryInterceptor(s.Unary), grpc.StreamInterceptor(s.Stream)})
	if err := invoke(t.Context(), served, "hello"); status.Code(err) != codes.Internal {
		t.Errorf("a call: %v", err)
	}
	if _, err := hear(t.Context(), served); status.Code(err) != codes.Internal {
		t.Errorf("a stream: %v", err)
	}
	called := start(t, &talk{}, nil, grpc.WithUnaryInterceptor(c.Unary), grpc.WithStreamInterceptor(c.Stream))
	if err := invoke(t.Context(), called, "hello"); !errors.Is(err, weir.ErrConfig) || status.Code(err) != codes.Internal {
		t.Errorf("an outbound call: %v", err)
	}
	if _, err := hear(t.Context(), called); !errors.Is(err, weir.ErrConfig) {
		t.Errorf("an outbound stream: %v", err)
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

// TestSettle checks that the charge of a call depends on its end.
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
	t.Run("leaving after the wanted messages is a success", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			for name, tt := range map[string]struct {
				md   []string
				end  func(cancel func())
				want int
			}{
				"cancelled":     {end: func(cancel func()) { cancel() }, want: 200},
				"out of time":   {end: func(func()) { time.Sleep(time.Minute) }, want: 200},
				"before it all": {md: []string{"x-code", "1"}, end: func(cancel func()) { cancel() }, want: 499},
			} {
				var got []middleware.Outcome
				cfg := config(t, weir.PerHour(1))
				cfg.Settle = func(r *http.Request, o middleware.Outcome) int64 {
					got = append(got, o)
					return middleware.OnlySuccesses(r, o)
				}
				cc := start(t, &talk{}, []grpc.ServerOption{grpc.ChainStreamInterceptor(mustServer(t, cfg).Stream)})
				ctx, cancel := context.WithTimeout(as(t.Context(), "ann", tt.md...), time.Minute)
				cs, err := cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, chat)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = cs.SendMsg(served), cs.RecvMsg(new(wrapperspb.StringValue))
				tt.end(cancel)
				synctest.Wait()
				cancel()
				if len(got) != 1 || got[0].Status != tt.want {
					t.Errorf("%s: outcomes %+v, want status %d", name, got, tt.want)
				}
				want := codes.ResourceExhausted
				if tt.want != 200 {
					want = codes.OK
				}
				if _, err := hear(as(t.Context(), "ann"), cc); status.Code(err) != want {
					t.Errorf("%s: the next stream: %v", name, err)
				}
			}
		})
	})
	t.Run("a handler may hear of the deadline before its context", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var got middleware.Outcome
			cfg := config(t, weir.PerHour(1))
			cfg.Settle = func(_ *http.Request, o middleware.Outcome) int64 { got = o; return 1 }
			ctx, cancel := context.WithTimeout(metadata.NewIncomingContext(t.Context(), metadata.Pairs("x-user", "ann")), time.Second+time.Millisecond)
			defer cancel()
			ss := &lateStream{ctx: ctx, deadline: time.Now().Add(time.Second)}
			err := mustServer(t, cfg).Stream(nil, ss, &grpc.StreamServerInfo{FullMethod: chat}, func(_ any, ss grpc.ServerStream) error {
				_ = ss.SendMsg(served)
				time.Sleep(time.Second)
				return status.Error(codes.DeadlineExceeded, "as a call to a backend says")
			})
			if status.Code(err) != codes.DeadlineExceeded || got.Status != http.StatusOK {
				t.Errorf("%v, outcome %+v, want status 200", err, got)
			}
		})
	})
	t.Run("leaving a call is no failure", func(t *testing.T) {
		t.Parallel()
		cfg := config(t, weir.PerHour(1))
		cfg.Settle = middleware.OnlySuccesses
		s := mustServer(t, cfg)
		for _, want := range []codes.Code{codes.Canceled, codes.ResourceExhausted} {
			ctx, cancel := context.WithCancel(metadata.NewIncomingContext(t.Context(), metadata.Pairs("x-user", "ann")))
			defer cancel()
			_, err := s.Unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: say}, func(ctx context.Context, _ any) (any, error) {
				cancel()
				return nil, status.FromContextError(ctx.Err()).Err()
			})
			if status.Code(err) != want {
				t.Errorf("%v, want %v", err, want)
			}
		}
	})
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

// lateStream is a stream whose context ends a moment after its deadline.
type lateStream struct {
	grpc.ServerStream
	ctx      context.Context
	deadline time.Time
}

func (s *lateStream) Context() context.Context    { return late{s.ctx, s.deadline} }
func (s *lateStream) SendMsg(any) error           { return nil }
func (s *lateStream) SetHeader(metadata.MD) error { return nil }

type late struct {
	context.Context
	deadline time.Time
}

func (c late) Deadline() (time.Time, bool) { return c.deadline, true }

// TestMessageCost checks that a call's cost may depend on its message.
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

// TestConnection checks over a real connection that the client's address counts.
func TestConnection(t *testing.T) {
	t.Parallel()
	cfg := config(t, weir.PerHour(1))
	var keys []string
	cfg.Key = func(r *http.Request) (string, error) {
		key, err := weir.KeyRemoteIP()(r)
		keys = append(keys, key+" for "+r.Host)
		return key, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	service, limits := new(talk), mustServer(t, cfg)
	srv := grpc.NewServer(grpc.UnaryInterceptor(limits.Unary), grpc.StreamInterceptor(limits.Stream))
	srv.RegisterService(service.desc(), service)
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	defer func() {
		srv.Stop()
		<-ended
	}()
	cc, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cc.Close() }()
	if err := invoke(t.Context(), cc, ""); err != nil {
		t.Error(err)
	}
	if _, err := hear(t.Context(), cc); status.Code(err) != codes.ResourceExhausted {
		t.Error(err)
	}
	if want := "127.0.0.1 for " + l.Addr().String(); strings.Join(keys, ", ") != want+", "+want {
		t.Errorf("keys %q", keys)
	}
}
