package weirgrpc_test

import (
	"context"
	"net/http"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/middleware"
)

func benchConfig(b *testing.B, store weir.Store, limits ...weir.Limit) middleware.Config {
	return middleware.Config{Limiter: newLimiter(b, store, limits...), Key: weir.KeyAPIKey("x-api-key", []byte("secret"))}
}

// BenchmarkUnary measures the interceptor alone, with the metadata that a call
// usually has.
func BenchmarkUnary(b *testing.B) {
	for _, bb := range []struct {
		name string
		cfg  middleware.Config
	}{
		{"always", benchConfig(b, httpcases.Always{}, weir.PerMinute(600))},
		{"local", benchConfig(b, newStore(b), weir.PerSecond(1<<40))},
		{"refused", func() middleware.Config {
			cfg := benchConfig(b, newStore(b), weir.PerDay(1))
			cfg.Cost = func(*http.Request) (int64, error) { return 2, nil }
			return cfg
		}()},
		{"skipped", func() middleware.Config {
			cfg := benchConfig(b, httpcases.Always{}, weir.PerMinute(600))
			cfg.Skip = func(*http.Request) bool { return true }
			return cfg
		}()},
	} {
		b.Run(bb.name, func(b *testing.B) {
			s := mustServer(b, bb.cfg)
			ctx := peer.NewContext(metadata.NewIncomingContext(b.Context(), metadata.Pairs(
				":authority", "api.example.com", "content-type", "application/grpc", "user-agent", "grpc-go/1.85.0",
				"x-api-key", "0123456789abcdef0123456789abcdef",
			)), &peer.Peer{Addr: address("192.0.2.1:1234")})
			ctx = grpc.NewContextWithServerTransportStream(ctx, nowhere{})
			info := &grpc.UnaryServerInfo{FullMethod: say}
			handler := func(context.Context, any) (any, error) { return nil, nil }
			b.ReportAllocs()
			for b.Loop() {
				_, _ = s.Unary(ctx, served, info, handler)
			}
		})
	}
}

// nowhere is a transport stream that drops the answer of a call.
type nowhere struct{ grpc.ServerTransportStream }

func (nowhere) SetHeader(metadata.MD) error { return nil }

// BenchmarkCall measures whole calls over a connection in memory, with and
// without the interceptor.
func BenchmarkCall(b *testing.B) {
	limits := mustServer(b, benchConfig(b, newStore(b), weir.PerSecond(1<<40)))
	for _, bb := range []struct {
		name string
		opts []grpc.ServerOption
	}{{"without", nil}, {"local", unary(limits)}} {
		b.Run(bb.name, func(b *testing.B) {
			cc := start(b, &talk{}, bb.opts)
			ctx := metadata.AppendToOutgoingContext(b.Context(), "x-api-key", "0123456789abcdef0123456789abcdef")
			out := new(wrapperspb.StringValue)
			b.ReportAllocs()
			for b.Loop() {
				if err := cc.Invoke(ctx, say, served, out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkMessage measures a message of a stream that is charged.
func BenchmarkMessage(b *testing.B) {
	s := mustServer(b, benchConfig(b, newStore(b), weir.PerSecond(1<<40)))
	ss := &endless{ctx: metadata.NewIncomingContext(b.Context(), metadata.Pairs("x-api-key", "0123456789abcdef0123456789abcdef"))}
	err := s.StreamMessages(nil, ss, &grpc.StreamServerInfo{FullMethod: chat}, func(_ any, ss grpc.ServerStream) error {
		b.ReportAllocs()
		for b.Loop() {
			if err := ss.RecvMsg(nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// endless is a stream whose next message is always there.
type endless struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *endless) Context() context.Context    { return s.ctx }
func (s *endless) SetHeader(metadata.MD) error { return nil }
func (s *endless) RecvMsg(any) error           { return nil }
