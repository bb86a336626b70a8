package weirgrpc_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/localstore"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// The methods of the service under test.
const (
	say    = "/weir.test.Talk/Say"    // answers served, or the code in x-code
	chat   = "/weir.test.Talk/Chat"   // answers each message with itself
	listen = "/weir.test.Talk/Listen" // a message in, three out
	tell   = "/weir.test.Talk/Tell"   // messages in, one out
)

// served is the answer of Say: six bytes of protobuf, as "served" is six of HTTP.
var served = wrapperspb.String("serv")

// talk is the service. Its fields may be nil.
type talk struct {
	onCall func(ctx context.Context)              // gets every call that arrives
	onEnd  func(received []string, lastErr error) // gets each message that Chat received
}

func (s *talk) called(ctx context.Context) error {
	if s.onCall != nil {
		s.onCall(ctx)
	}
	if v := metadata.ValueFromIncomingContext(ctx, "x-code"); len(v) == 1 {
		code, _ := strconv.Atoi(v[0])
		return status.Error(codes.Code(code), "as asked for") //nolint:gosec // of a test
	}
	return nil
}

func (s *talk) say(ctx context.Context, _ any) (any, error) {
	if err := s.called(ctx); err != nil {
		return nil, err
	}
	return served, nil
}

func (s *talk) chat(_ any, ss grpc.ServerStream) error {
	if err := s.called(ss.Context()); err != nil {
		return err
	}
	var received []string
	for n := 1; ; n++ {
		m := new(wrapperspb.StringValue)
		if err := ss.RecvMsg(m); err != nil {
			if s.onEnd != nil {
				s.onEnd(received, err)
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return errors.New("the handler hides what it got")
		}
		received = append(received, m.GetValue())
		if err := ss.SendMsg(m); err != nil {
			return err
		}
	}
}

func (s *talk) listen(_ any, ss grpc.ServerStream) error {
	if err := ss.RecvMsg(new(wrapperspb.StringValue)); err != nil {
		return err
	}
	for range 3 {
		if err := ss.SendMsg(served); err != nil {
			return err
		}
	}
	return s.called(ss.Context())
}

func (s *talk) tell(_ any, ss grpc.ServerStream) error {
	for {
		if err := ss.RecvMsg(new(wrapperspb.StringValue)); errors.Is(err, io.EOF) {
			return ss.SendMsg(served)
		} else if err != nil {
			return err
		}
	}
}

func (s *talk) desc() *grpc.ServiceDesc {
	return &grpc.ServiceDesc{
		ServiceName: "weir.test.Talk", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: "Say",
			Handler: func(srv any, ctx context.Context, dec func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
				in := new(wrapperspb.StringValue)
				if err := dec(in); err != nil {
					return nil, err
				}
				if intercept == nil {
					return s.say(ctx, in)
				}
				return intercept(ctx, in, &grpc.UnaryServerInfo{Server: srv, FullMethod: say}, s.say)
			},
		}},
		Streams: []grpc.StreamDesc{
			{StreamName: "Chat", Handler: s.chat, ServerStreams: true, ClientStreams: true},
			{StreamName: "Listen", Handler: s.listen, ServerStreams: true},
			{StreamName: "Tell", Handler: s.tell, ClientStreams: true},
		},
	}
}

type address string

func (address) Network() string  { return "test" }
func (a address) String() string { return string(a) }

// from gives a call the address in x-remote: a connection has one address, and the cases
// have many.
func from(ctx context.Context) context.Context {
	a := address("192.0.2.1:1234")
	if v := metadata.ValueFromIncomingContext(ctx, "x-remote"); len(v) == 1 && v[0] != "" {
		a = address(v[0])
	}
	return peer.NewContext(ctx, &peer.Peer{Addr: a})
}

type fromStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s fromStream) Context() context.Context { return s.ctx }

func unaryFrom(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	return handler(from(ctx), req)
}

func streamFrom(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return handler(srv, fromStream{ss, from(ss.Context())})
}

// start serves talk behind interceptors, and returns a connection to it. Both end
// with the test.
func start(t testing.TB, s *talk, server []grpc.ServerOption, client ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	l := bufconn.Listen(1 << 16)
	srv := grpc.NewServer(append([]grpc.ServerOption{
		grpc.ChainUnaryInterceptor(unaryFrom), grpc.ChainStreamInterceptor(streamFrom),
	}, server...)...)
	srv.RegisterService(s.desc(), s)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = srv.Serve(l)
	}()
	cc, err := grpc.NewClient("passthrough:///test", append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }),
	}, client...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cc.Close()
		srv.Stop()
		<-ended
	})
	return cc
}

func newStore(t testing.TB) weir.Store {
	t.Helper()
	s, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newLimiter returns a limiter called api.
func newLimiter(t testing.TB, store weir.Store, limits ...weir.Limit) *weir.Limiter {
	t.Helper()
	l, err := weir.New(weir.Config{Name: "api", Store: store, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// config limits by x-user.
func config(t testing.TB, limits ...weir.Limit) middleware.Config {
	return middleware.Config{Limiter: newLimiter(t, newStore(t), limits...), Key: weir.KeyHeader("x-user")}
}

// as returns the context of calls by a user.
func as(ctx context.Context, user string, more ...string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, append([]string{"x-user", user}, more...)...)
}
