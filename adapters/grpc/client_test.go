package weirgrpc_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	weirgrpc "github.com/goweir/weir/adapters/grpc"
	"github.com/goweir/weir/store"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// outbound returns the options of a connection whose calls are limited.
func outbound(t testing.TB, cfg weirgrpc.ClientConfig) []grpc.DialOption {
	t.Helper()
	c, err := weirgrpc.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(c.Unary), grpc.WithChainStreamInterceptor(c.Stream)}
}

func limiterOf(t testing.TB, cfg weir.Config) *weir.Limiter {
	t.Helper()
	if cfg.Store == nil {
		cfg.Store = newStore(t)
	}
	cfg.Name = cmp.Or(cfg.Name, "api")
	l, err := weir.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestClientWaits checks that calls and streams wait for their turn, and fail at once if
// the wait would be too long.
func TestClientWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limiterOf(t, weir.Config{Limits: []weir.Limit{weir.PerSecond(1).WithBurst(1)}, MaxWait: time.Second})
		cc := start(t, &talk{}, nil, outbound(t, weirgrpc.ClientConfig{Limiter: l})...)
		began := time.Now()
		if err := invoke(t.Context(), cc, ""); err != nil || time.Since(began) != 0 {
			t.Errorf("first: %v after %v", err, time.Since(began))
		}
		if n, err := hear(t.Context(), cc); n != 3 || err != nil || time.Since(began) != time.Second {
			t.Errorf("second: %d, %v after %v", n, err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		err := invoke(ctx, cc, "")
		var limited *weir.LimitedError
		if !errors.As(err, &limited) || !limited.PastDeadline || status.Code(err) != codes.ResourceExhausted || time.Since(began) != time.Second {
			t.Errorf("too late: %v after %v", err, time.Since(began))
		}
	})
}

// TestClientErrors checks that each failure has its own code and its own error.
func TestClientErrors(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	away := storeFunc(func() (store.Decision, error) { return store.Decision{}, errors.New("dial tcp 10.0.0.7:6379") })
	tests := []struct {
		name    string
		ctx     context.Context
		store   weir.Store
		key     error
		code    codes.Code
		message string
		is      error
	}{
		{name: "the store", store: away, code: codes.Unavailable, message: "weir: store failed", is: weir.ErrStore},
		{name: "the context", ctx: cancelled, code: codes.Canceled, message: "context canceled", is: context.Canceled},
		{
			name: "the key", key: weir.ErrNoKey, code: codes.Internal, is: weir.ErrNoKey,
			message: "weir: the call could not be checked against its limits",
		},
		{
			name: "a limit", store: storeFunc(func() (store.Decision, error) {
				return store.Decision{Reason: weir.ReasonNeverFits, Limit: store.Per(1, time.Hour), RetryAfter: store.Never}, nil
			}), code: codes.ResourceExhausted, message: "weir: client-side limit 1-in-1h of api: a cost of 1 never fits", is: weir.ErrLimited,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := limiterOf(t, weir.Config{Store: tt.store, Limits: []weir.Limit{weir.PerHour(1).WithBurst(1)}})
			calls := 0
			cc := start(t, &talk{onCall: func(context.Context) { calls++ }}, nil, outbound(t, weirgrpc.ClientConfig{
				Limiter: l, Key: func(context.Context, string, string) (string, error) { return "all", tt.key },
			})...)
			ctx := tt.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			_, streamed := hear(ctx, cc)
			for _, err := range []error{invoke(ctx, cc, ""), streamed} {
				if st := status.Convert(err); !errors.Is(err, tt.is) || st.Code() != tt.code || st.Message() != tt.message {
					t.Errorf("got %v: %v, %s", err, st.Code(), st.Message())
				}
			}
			if calls > 0 {
				t.Errorf("%d calls", calls)
			}
		})
	}
}

// TestClientHeeds checks that a server's RetryInfo makes the next calls wait, of
// unary calls and streams, and that other failures do not.
func TestClientHeeds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		ignore bool
		fail   func(ctx context.Context, cc *grpc.ClientConn) error
		want   time.Duration
	}{
		{name: "a unary call", want: time.Hour, fail: func(ctx context.Context, cc *grpc.ClientConn) error { return invoke(ctx, cc, "") }},
		{name: "a stream", want: time.Hour, fail: func(ctx context.Context, cc *grpc.ClientConn) error { _, err := hear(ctx, cc); return err }},
		{name: "ignored", ignore: true, fail: func(ctx context.Context, cc *grpc.ClientConn) error { return invoke(ctx, cc, "") }},
		{name: "without RetryInfo", fail: func(ctx context.Context, cc *grpc.ClientConn) error {
			return errors.Join(invoke(as(ctx, "bob", "x-code", "8"), cc, ""), errors.New("as expected"))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := mustServer(t, config(t, weir.PerHour(1)))
				hook := func(_ context.Context, e weir.Event) {
					if e.Kind == weir.EventPaused && e.By != "upstream" {
						t.Errorf("a pause by %s, want by the upstream", e.By)
					}
				}
				l := limiterOf(t, weir.Config{Limits: []weir.Limit{weir.PerSecond(1000).WithBurst(1000)}, MaxPause: 2 * time.Hour, Hook: hook})
				cc := start(t, &talk{}, append(unary(s), grpc.ChainStreamInterceptor(s.Stream)),
					outbound(t, weirgrpc.ClientConfig{Limiter: l, IgnoreRetryInfo: tt.ignore})...)
				if err := invoke(as(t.Context(), "ann"), cc, ""); err != nil {
					t.Fatal(err)
				}
				if err := tt.fail(as(t.Context(), "ann"), cc); err == nil {
					t.Fatal("no failure")
				}
				began := time.Now()
				_ = invoke(as(t.Context(), "ann"), cc, "")
				if took := time.Since(began); took != tt.want {
					t.Errorf("waited for %v, want %v", took, tt.want)
				}
			})
		})
	}
}

// TestClientInFlight checks that a stream is in flight until it has ended, in any way.
func TestClientInFlight(t *testing.T) {
	t.Parallel()
	streams := map[string]func(t *testing.T, ctx context.Context, cancel func(), cc *grpc.ClientConn) (end func()){
		"to its end": func(t *testing.T, ctx context.Context, _ func(), cc *grpc.ClientConn) func() {
			cs, err := cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, chat)
			if err != nil {
				t.Fatal(err)
			}
			return func() {
				_ = cs.CloseSend()
				_ = cs.RecvMsg(new(wrapperspb.StringValue))
			}
		},
		"to its only answer": func(t *testing.T, ctx context.Context, _ func(), cc *grpc.ClientConn) func() {
			cs, err := cc.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, tell)
			if err != nil {
				t.Fatal(err)
			}
			return func() {
				if err := errors.Join(cs.CloseSend(), cs.RecvMsg(new(wrapperspb.StringValue))); err != nil {
					t.Error(err)
				}
			}
		},
		"sending too much": func(t *testing.T, ctx context.Context, _ func(), cc *grpc.ClientConn) func() {
			cs, err := cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, chat, grpc.MaxCallSendMsgSize(3))
			if err != nil {
				t.Fatal(err)
			}
			return func() {
				if err := cs.SendMsg(served); status.Code(err) != codes.ResourceExhausted {
					t.Error(err)
				}
			}
		},
		"left": func(t *testing.T, ctx context.Context, cancel func(), cc *grpc.ClientConn) func() {
			if _, err := cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, chat); err != nil {
				t.Fatal(err)
			}
			return cancel
		},
	}
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := limiterOf(t, weir.Config{Limits: []weir.Limit{weir.PerSecond(1000).WithBurst(1000)}, InFlight: 1, MaxWait: time.Minute})
				cc := start(t, &talk{}, nil, outbound(t, weirgrpc.ClientConfig{Limiter: l})...)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				end := open(t, ctx, cancel, cc)
				if err := invoke(t.Context(), cc, ""); !errors.Is(err, weir.ErrLimited) {
					t.Errorf("while it is open: %v", err)
				}
				end()
				synctest.Wait()
				began := time.Now()
				if err := invoke(t.Context(), cc, ""); err != nil || time.Since(began) > time.Second {
					t.Errorf("when it has ended: %v after %v", err, time.Since(began))
				}
			})
		})
	}
}

// endlessStream is a stream whose methods return given errors.
type endlessStream struct {
	grpc.ClientStream
	err error
}

func (s endlessStream) SendMsg(any) error            { return s.err }
func (s endlessStream) Header() (metadata.MD, error) { return nil, s.err }

// TestClientInnerPanic: an interceptor that panics while it opens a stream keeps no place.
func TestClientInnerPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limiterOf(t, weir.Config{Limits: []weir.Limit{weir.PerSecond(1000).WithBurst(1000)}, InFlight: 1})
		panics := func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, grpc.Streamer, ...grpc.CallOption) (grpc.ClientStream, error) {
			panic("inner")
		}
		cc := start(t, &talk{}, nil, append(outbound(t, weirgrpc.ClientConfig{Limiter: l}), grpc.WithChainStreamInterceptor(panics))...)
		func() {
			defer func() {
				if got := recover(); got != "inner" {
					t.Errorf("recovered %v", got)
				}
			}()
			_, _ = cc.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true}, chat)
		}()
		synctest.Wait()
		if _, held := l.Stats(); held != 0 {
			t.Errorf("%d calls are in flight, want 0", held)
		}
	})
}

// TestClientStreamFailure checks that a stream has ended when sending or the header
// failed. After io.EOF it has not: RecvMsg returns the reason.
func TestClientStreamFailure(t *testing.T) {
	t.Parallel()
	failed := status.Error(codes.Internal, "failed")
	methods := map[string]func(grpc.ClientStream) error{
		"SendMsg": func(cs grpc.ClientStream) error { return cs.SendMsg(served) },
		"Header":  func(cs grpc.ClientStream) error { _, err := cs.Header(); return err },
	}
	for name, call := range methods {
		for err, ends := range map[error]bool{failed: true, io.EOF: false, nil: false} {
			t.Run(name+" "+fmt.Sprint(err), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					l := limiterOf(t, weir.Config{Limits: []weir.Limit{weir.PerSecond(1000).WithBurst(1000)}, InFlight: 1})
					c, cerr := weirgrpc.NewClient(weirgrpc.ClientConfig{Limiter: l})
					if cerr != nil {
						t.Fatal(cerr)
					}
					cc := start(t, &talk{}, nil)
					cs, cerr := c.Stream(t.Context(), &grpc.StreamDesc{ServerStreams: true}, cc, chat,
						func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
							return endlessStream{err: err}, nil
						})
					if cerr != nil {
						t.Fatal(cerr)
					}
					if got := call(cs); got != err {
						t.Errorf("got %v", got)
					}
					synctest.Wait()
					lease, refused := l.TryAcquire(t.Context(), cc.Target())
					if ended := refused == nil; ended != ends {
						t.Errorf("ended: %t, %v", ended, refused)
					} else if ended {
						lease.Release()
					}
				})
			})
		}
	}
}

func TestClientConfig(t *testing.T) {
	t.Parallel()
	for _, l := range []*weir.Limiter{nil, new(weir.Limiter)} {
		if c, err := weirgrpc.NewClient(weirgrpc.ClientConfig{Limiter: l}); c != nil || !errors.Is(err, weir.ErrConfig) {
			t.Errorf("NewClient returned %v, %v", c, err)
		}
	}
}

// TestClientRefusesBursts checks that limits that let nearly two periods' calls leave in
// one are refused, as by weir.NewTransport.
func TestClientRefusesBursts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		limits []weir.Limit
		ok     bool
	}{
		{[]weir.Limit{weir.PerSecond(25)}, false},
		{[]weir.Limit{weir.Outbound(25, time.Second), weir.PerMinute(300)}, false},
		{[]weir.Limit{weir.Outbound(25, time.Second), weir.Outbound(300, time.Minute)}, true},
		{[]weir.Limit{weir.PerSecond(25).WithBurst(25)}, true},
		{[]weir.Limit{weir.PerSecond(25).By(weir.FixedWindow)}, true},
	}
	for _, tt := range tests {
		_, err := weirgrpc.NewClient(weirgrpc.ClientConfig{Limiter: limiterOf(t, weir.Config{Limits: tt.limits})})
		if ok := err == nil; ok != tt.ok || !ok && !strings.Contains(err.Error(), "weirgrpc.ClientConfig.Limiter: want Outbound(") {
			t.Errorf("%v: %v", tt.limits, err)
		}
	}
}

// brakes is a store whose Brake is a function.
type brakes struct {
	weir.Store
	store.Braker
	brake func(ctx context.Context) error
}

func (s *brakes) Brake(ctx context.Context, _ []store.Charge, _ store.Brake) error {
	return s.brake(ctx)
}

// TestClientWaitsForNoBrake checks that a call whose answer pauses a key does not wait for
// a store that hangs, and that a panic of the store does not end the program.
func TestClientWaitsForNoBrake(t *testing.T) {
	t.Parallel()
	told, err := status.New(codes.ResourceExhausted, "busy").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	for name, brake := range map[string]func(ctx context.Context) error{
		"the store hangs":  func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"the store panics": func(context.Context) error { panic("a brake") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				local := newStore(t)
				s := &brakes{Store: local, Braker: local.(store.Braker), brake: brake}
				cc := start(t, &talk{}, nil)
				c, err := weirgrpc.NewClient(weirgrpc.ClientConfig{Limiter: limiterOf(t, weir.Config{Store: s, Limits: []weir.Limit{weir.Outbound(10, time.Second)}})})
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				err = c.Unary(t.Context(), say, nil, nil, cc, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return told.Err() })
				if took := time.Since(began); status.Code(err) != codes.ResourceExhausted || errors.Is(err, weir.ErrLimited) || took > 20*time.Millisecond {
					t.Errorf("got %v after %v", err, took)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

// TestClientHeedsWhenLeft checks that a RetryInfo pauses the key for other calls, even if
// the call that got it is over.
func TestClientHeedsWhenLeft(t *testing.T) {
	t.Parallel()
	l := limiterOf(t, weir.Config{Limits: []weir.Limit{weir.PerSecond(1000).WithBurst(1000)}})
	c, err := weirgrpc.NewClient(weirgrpc.ClientConfig{Limiter: l})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	told, err := status.New(codes.Unavailable, "busy").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	cc := start(t, &talk{}, nil)
	err = c.Unary(ctx, say, nil, nil, cc, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
		cancel()
		return told.Err()
	})
	if status.Code(err) != codes.Unavailable || errors.Is(err, weir.ErrStore) {
		t.Errorf("got %v", err)
	}
	if d, err := l.Allow(t.Context(), cc.Target()); d.Reason != weir.ReasonPaused || err != nil {
		t.Errorf("others: %v, %v", d.Reason, err)
	}
}

// TestClientPausesAreBounded checks that callers that leave a slow store behind leave no more
// than 512 pauses under way.
func TestClientPausesAreBounded(t *testing.T) {
	t.Parallel()
	told, err := status.New(codes.Unavailable, "busy").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		local := newStore(t)
		s := &brakes{Store: local, Braker: local.(store.Braker), brake: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		cc := start(t, &talk{}, nil)
		c, err := weirgrpc.NewClient(weirgrpc.ClientConfig{Limiter: limiterOf(t, weir.Config{Store: s, Limits: []weir.Limit{weir.Outbound(10_000, time.Second)}})})
		if err != nil {
			t.Fatal(err)
		}
		var left atomic.Int64
		for range 1000 {
			go func() {
				_ = c.Unary(t.Context(), say, nil, nil, cc, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return told.Err() })
				left.Add(1)
			}()
		}
		time.Sleep(500 * time.Millisecond)
		if n := left.Load(); n != 512 {
			t.Errorf("%d callers left their pauses behind, want 512", n)
		}
		time.Sleep(time.Minute)
		if n := left.Load(); n != 1000 {
			t.Errorf("%d callers are back, want 1000", n)
		}
	})
}
