package weirgrpc

import (
	"context"
	"net/http"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// outcome is the end of a call that is to be settled.
type outcome struct {
	status int         // the HTTP status that it comes to
	begun  atomic.Bool // a message was sent
	bytes  atomic.Int64
	ended  bool // it did not panic
}

// sent counts a message. Only protobuf messages can be measured here.
func (o *outcome) sent(m any) {
	o.begun.Store(true)
	if m, ok := m.(proto.Message); ok {
		o.bytes.Add(int64(proto.Size(m)))
	}
}

func (o *outcome) end(err error) {
	st, ok := status.FromError(err)
	if !ok {
		st = status.FromContextError(err) // as the server does
	}
	o.status, o.ended = httpStatus(st.Code()), true
}

// endStream is end for a stream that its client may have cut short. The client left or
// let its time pass after messages were sent, or had a later message refused. Such a
// stream is a success. Otherwise a client could have all messages free, by leaving before
// the last.
func (o *outcome) endStream(ctx context.Context, err error, refused bool) {
	if refused || o.begun.Load() && ctx.Err() != nil {
		err = nil
	}
	o.end(err)
}

func (s *Server) settle(r, passed *http.Request, o *outcome) {
	s.guard.Settle(r, passed, o.status, o.bytes.Load(), o.ended)
}

// httpStatus returns the HTTP status that google.rpc.Code gives to a code.
func httpStatus(code codes.Code) int {
	switch code {
	case codes.OK:
		return http.StatusOK
	case codes.Canceled:
		return 499 // which is nginx's, not HTTP's
	case codes.InvalidArgument, codes.FailedPrecondition, codes.OutOfRange:
		return http.StatusBadRequest
	case codes.Unauthenticated:
		return http.StatusUnauthorized
	case codes.PermissionDenied:
		return http.StatusForbidden
	case codes.NotFound:
		return http.StatusNotFound
	case codes.AlreadyExists, codes.Aborted:
		return http.StatusConflict
	case codes.ResourceExhausted:
		return http.StatusTooManyRequests
	case codes.Unimplemented:
		return http.StatusNotImplemented
	case codes.Unavailable:
		return http.StatusServiceUnavailable
	case codes.DeadlineExceeded:
		return http.StatusGatewayTimeout
	}
	return http.StatusInternalServerError
}
