package weirgrpc

import (
	"context"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// Server limits the calls that a gRPC server serves. Its methods Unary and
// Stream, or StreamMessages, are the interceptors. It is safe for concurrent use. A zero
// Server answers every call with INTERNAL.
type Server struct{ guard *middleware.Guard }

// NewServer returns a Server, or a *[weir.ConfigError] that names the wrong
// field. It does no I/O. Config.OnLimited, which answers with HTTP, must be nil.
func NewServer(cfg middleware.Config) (*Server, error) {
	if cfg.OnLimited != nil {
		return nil, &weir.ConfigError{Field: "middleware.Config.OnLimited", Want: "nil, as gRPC answers with a status", Got: "a function"}
	}
	guard, err := middleware.NewGuard(cfg)
	if err != nil {
		return nil, err
	}
	return &Server{guard}, nil
}

// Unary is a grpc.UnaryServerInterceptor. A refused call does not reach the
// handler.
func (s *Server) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	r := newRequest(withMessage(ctx, req), info.FullMethod, true)
	passed, told, err := s.check(r)
	if len(told) > 0 {
		// It fails without a call to answer, as in a test of the handler.
		_ = grpc.SetHeader(ctx, told)
	}
	if err != nil {
		return nil, err
	}
	if !s.guard.Settles() || passed == r {
		return handler(passed.Context(), req)
	}
	var o outcome
	defer func() { s.settle(r, passed, &o) }()
	resp, err = handler(passed.Context(), req)
	if err == nil {
		o.sent(resp)
	}
	o.end(err)
	return resp, err
}

// Stream is a grpc.StreamServerInterceptor that charges a stream once, when it is opened,
// for any number of messages.
func (s *Server) Stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return s.serve(srv, ss, info, handler, false)
}

// StreamMessages is Stream, and charges each message after the first as well. The
// opening covers the first, so a call with one message costs the same either way.
//
// A refused message ends the stream with the refusal: the handler receives an error in
// its place, and can't replace the refusal. Rate headers then are in the trailer. With
// Config.Delay messages wait, and so does the client once the window of flow control is
// full. The cost of a message is not settled. Mount StreamMessages in the place of
// Stream, not beside it: the inner of two mounts charges nothing.
func (s *Server) StreamMessages(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return s.serve(srv, ss, info, handler, true)
}

func (s *Server) serve(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler, each bool) error {
	// Only a grpc.UnknownServiceHandler has no service.
	r := newRequest(ss.Context(), info.FullMethod, srv != nil)
	passed, told, err := s.check(r)
	if len(told) > 0 {
		_ = ss.SetHeader(told) // It fails when an interceptor has sent them already.
	}
	if err != nil {
		return err
	}
	st := &stream{ServerStream: ss, ctx: passed.Context()}
	if each {
		st.server, st.request = s, r
	}
	if s.guard.Settles() && passed != r {
		st.outcome = new(outcome)
		defer func() { s.settle(r, passed, st.outcome) }()
	}
	err = handler(srv, st)
	refused := st.refused.Load()
	if refused != nil {
		err = *refused
	}
	if st.outcome != nil {
		st.outcome.endStream(ss.Context(), err, refused != nil)
	}
	return err
}

// check decides on a call. It returns the request with the handler's context, the
// metadata for the client, and the refusal.
func (s *Server) check(r *http.Request) (*http.Request, metadata.MD, error) {
	if s.guard == nil {
		return nil, nil, status.Error(codes.Internal, "weir: the Server is a zero one, want one made by NewServer")
	}
	a := answer{header: make(http.Header, 4)}
	passed, ok := s.guard.Check(&a, r)
	if ok {
		return passed, a.metadata(), nil
	}
	return nil, a.metadata(), a.refusal(r.Context())
}

// Infrastructure is a Config.Skip for the services that every gRPC server has:
// health checks and reflection.
func Infrastructure(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/grpc.health.v1.Health/") ||
		strings.HasPrefix(r.URL.Path, "/grpc.reflection.v1.ServerReflection/") ||
		strings.HasPrefix(r.URL.Path, "/grpc.reflection.v1alpha.ServerReflection/")
}
