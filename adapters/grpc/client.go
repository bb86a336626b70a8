package weirgrpc

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/line"
)

// ClientConfig configures [NewClient].
type ClientConfig struct {
	// Limiter decides when a call may be made. Required. Each of its limits comes from
	// weir.Outbound, or has a window algorithm, or has a Burst. Its MaxWait and
	// MaxWaiters bound the waiting, besides the call's context; with InFlight a
	// call is in flight until it has ended.
	Limiter *weir.Limiter
	// Key returns the key that a call counts under, from the target that
	// grpc.NewClient got, and the full method. Nil: the target.
	Key func(ctx context.Context, target, method string) (string, error)
	// IgnoreRetryInfo makes calls at the limits' pace whatever servers say.
	// False: the RetryInfo of a refusal pauses the key.
	IgnoreRetryInfo bool
}

// Client keeps the calls that a program makes inside limits: its methods Unary
// and Stream are interceptors that wait for a call's turn. It is safe for
// concurrent use.
//
// A call that is refused before it is made returns an error that matches
// weir.ErrLimited, with the code RESOURCE_EXHAUSTED, or weir.ErrStore, with the code
// UNAVAILABLE. An error from the server matches neither. If a server answers one of
// these codes with a RetryInfo, the key is paused for that long, in all processes
// that share the store, if the store can pause; see [weir.Limiter.Pause].
//
// Each call is counted once. gRPC repeats calls after a broken connection, and where
// a service config says so, without asking interceptors again. Turn the latter off
// (grpc.WithDisableRetry), or leave room for it in the limits.
type Client struct {
	cfg   ClientConfig
	lanes chan struct{} // has a value for each pause in the background
}

// NewClient returns a Client, or a *[weir.ConfigError]. It does no I/O.
func NewClient(cfg ClientConfig) (*Client, error) {
	// A Transport refuses the same limiters, as GCRA without a Burst, and for the same reasons.
	if _, err := weir.NewTransport(weir.TransportConfig{Limiter: cfg.Limiter, Key: weir.KeyHost()}); err != nil {
		if wrong, ok := errors.AsType[*weir.ConfigError](err); ok {
			wrong.Field = "weirgrpc.ClientConfig.Limiter"
		}
		return nil, err
	}
	if cfg.Key == nil {
		cfg.Key = func(_ context.Context, target, _ string) (string, error) { return target, nil }
	}
	return &Client{cfg, make(chan struct{}, maxPauses)}, nil
}

// Unary is a grpc.UnaryClientInterceptor.
func (c *Client) Unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	key, lease, err := c.wait(ctx, cc, method)
	if err != nil {
		return err
	}
	defer lease.Release()
	err = invoker(ctx, method, req, reply, cc, opts...)
	c.heed(ctx, key, err)
	return err
}

// Stream is a grpc.StreamClientInterceptor. A stream counts once, when it is opened, for
// any number of messages. It is in flight until ctx ends, or one of its methods reports
// the end, see grpc.ClientConn.NewStream. Closing the connection alone does not end it.
func (c *Client) Stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	key, lease, err := c.wait(ctx, cc, method)
	if err != nil {
		return nil, err
	}
	opened := false
	defer func() { // An inner interceptor may panic.
		if !opened {
			lease.Release()
		}
	}()
	cs, err := streamer(ctx, desc, cc, method, opts...)
	if err != nil {
		c.heed(ctx, key, err)
		return nil, err
	}
	opened = true
	s := &clientStream{ClientStream: cs, single: !desc.ServerStreams}
	stop := context.AfterFunc(ctx, lease.Release)
	s.end = func(err error) {
		stop()
		lease.Release()
		c.heed(ctx, key, err)
	}
	return s, nil
}

// clientStream is a stream that reports its end.
type clientStream struct {
	grpc.ClientStream
	single bool // one message is all that it receives
	once   sync.Once
	end    func(error)
}

// RecvMsg receives the status of the stream, too, as the last one.
func (s *clientStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err != nil || s.single {
		s.ended(err)
	}
	return err
}

// SendMsg ends the stream when it fails, but for io.EOF, whose reason RecvMsg has.
func (s *clientStream) SendMsg(m any) error {
	err := s.ClientStream.SendMsg(m)
	if err != nil && err != io.EOF {
		s.ended(err)
	}
	return err
}

// Header is as SendMsg.
func (s *clientStream) Header() (metadata.MD, error) {
	md, err := s.ClientStream.Header()
	if err != nil && err != io.EOF {
		s.ended(err)
	}
	return md, err
}

func (s *clientStream) ended(err error) { s.once.Do(func() { s.end(err) }) }

// wait waits for a call's turn.
func (c *Client) wait(ctx context.Context, cc *grpc.ClientConn, method string) (key string, lease *weir.Lease, err error) {
	if c.cfg.Limiter == nil {
		return "", nil, &callError{&weir.ConfigError{Field: "Client", Want: "one made by NewClient", Got: "a zero one"}}
	}
	if key, err = c.cfg.Key(ctx, cc.Target(), method); err == nil {
		lease, err = c.cfg.Limiter.Acquire(ctx, key)
	}
	if err != nil {
		return "", nil, &callError{err}
	}
	return key, lease, nil
}

const (
	// heedTimeout bounds the call of the store that pauses a key.
	heedTimeout = time.Second
	// maxPauses is the maximum number of such calls in the background. Callers make more calls
	// themselves, and wait for them.
	maxPauses = 512
)

// heed pauses the key as the answer to a call says, and does not wait long for the store.
func (c *Client) heed(ctx context.Context, key string, err error) {
	if err == nil || c.cfg.IgnoreRetryInfo {
		return
	}
	d := min(retryDelay(err), c.cfg.Limiter.Config().MaxPause)
	if d <= 0 {
		return
	}
	select {
	case c.lanes <- struct{}{}:
	default:
		c.pause(ctx, key, d)
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { <-c.lanes }()
		c.pause(ctx, key, d)
	}()
	line.Linger(done)
}

// pause pauses the key, within heedTimeout. A panic of the store would end the program.
func (c *Client) pause(ctx context.Context, key string, d time.Duration) {
	defer func() {
		if r := recover(); r != nil {
			slog.Error("weir: the store panicked, and paused nothing", "limiter", c.cfg.Limiter.Name(), "panic", r)
		}
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), heedTimeout)
	defer cancel()
	// The Limiter's Hook gets a failure. A store that can't pause is the program's choice.
	_ = c.cfg.Limiter.PauseBy(ctx, key, d, "upstream")
}

// retryDelay returns the RetryInfo of a refusal; 0 without one.
func retryDelay(err error) time.Duration {
	st, _ := status.FromError(err)
	if code := st.Code(); code != codes.ResourceExhausted && code != codes.Unavailable {
		return 0
	}
	for _, detail := range st.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok && info.GetRetryDelay().AsDuration() > 0 {
			return info.GetRetryDelay().AsDuration()
		}
	}
	return 0
}

// callError is the reason why a call was not made.
type callError struct{ err error }

func (e *callError) Error() string { return e.err.Error() }
func (e *callError) Unwrap() error { return e.err }

// GRPCStatus has the code, and not the store's error text: a handler may hand the error
// on to its own client.
func (e *callError) GRPCStatus() *status.Status {
	switch limited, ok := errors.AsType[*weir.LimitedError](e.err); {
	case ok:
		return status.New(codes.ResourceExhausted, limited.Error())
	case errors.Is(e.err, weir.ErrStore):
		return status.New(codes.Unavailable, weir.ErrStore.Error())
	case errors.Is(e.err, context.Canceled), errors.Is(e.err, context.DeadlineExceeded):
		return status.FromContextError(e.err)
	}
	return status.New(codes.Internal, "weir: the call could not be checked against its limits")
}
