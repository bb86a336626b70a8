package weirgrpc

import (
	"context"
	"net/http"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/goweir/weir/internal/deadline"
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
	o.status, o.ended = statusOf(st.Code()), true
}

// endStream is end for a stream that its client may have cut short. The client left or
// let its time pass after messages were sent, or had a later message refused. Such a
// stream is a success. Otherwise a client could have all messages free, by leaving before
// the last.
func (o *outcome) endStream(ctx context.Context, err error, refused bool) {
	if refused || o.begun.Load() && deadline.Ended(ctx) != nil {
		err = nil
	}
	o.end(err)
}

func (s *Server) settle(r, passed *http.Request, o *outcome) {
	s.guard.Settle(r, passed, o.status, o.bytes.Load(), o.ended)
}

// statuses are the HTTP statuses that google.rpc.Code gives to the codes.
var statuses = [...]int{
	codes.OK:                 http.StatusOK,
	codes.Canceled:           499, // which is nginx's, not HTTP's
	codes.Unknown:            http.StatusInternalServerError,
	codes.InvalidArgument:    http.StatusBadRequest,
	codes.DeadlineExceeded:   http.StatusGatewayTimeout,
	codes.NotFound:           http.StatusNotFound,
	codes.AlreadyExists:      http.StatusConflict,
	codes.PermissionDenied:   http.StatusForbidden,
	codes.ResourceExhausted:  http.StatusTooManyRequests,
	codes.FailedPrecondition: http.StatusBadRequest,
	codes.Aborted:            http.StatusConflict,
	codes.OutOfRange:         http.StatusBadRequest,
	codes.Unimplemented:      http.StatusNotImplemented,
	codes.Internal:           http.StatusInternalServerError,
	codes.Unavailable:        http.StatusServiceUnavailable,
	codes.DataLoss:           http.StatusInternalServerError,
	codes.Unauthenticated:    http.StatusUnauthorized,
}

func statusOf(code codes.Code) int {
	if int(code) < len(statuses) {
		return statuses[code]
	}
	return http.StatusInternalServerError
}
