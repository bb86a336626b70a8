package weirgrpc

import (
	"context"
	"net/http"
	"sync/atomic"

	"google.golang.org/grpc"
)

// stream is an admitted stream.
type stream struct {
	grpc.ServerStream
	ctx     context.Context
	outcome *outcome // nil: nothing is settled

	// server charges messages; nil: none. request opened the stream, and is as it was
	// before this mount counted it.
	server  *Server
	request *http.Request
	begun   bool // the first message has come
	refused atomic.Pointer[error]
}

func (st *stream) Context() context.Context { return st.ctx }

func (st *stream) SendMsg(m any) error {
	err := st.ServerStream.SendMsg(m)
	if err == nil && st.outcome != nil {
		st.outcome.sent(m)
	}
	return err
}

// RecvMsg is called by one goroutine at a time, as for every stream.
func (st *stream) RecvMsg(m any) error {
	if refused := st.refused.Load(); refused != nil {
		return *refused
	}
	if err := st.ServerStream.RecvMsg(m); err != nil || st.server == nil {
		return err
	}
	if !st.begun {
		st.begun = true
		return nil
	}
	_, told, err := st.server.check(st.request.WithContext(withMessage(st.request.Context(), m)))
	if err != nil {
		st.refused.Store(&err)
		st.SetTrailer(told)
	}
	return err
}
