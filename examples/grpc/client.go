package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/goweir/weir"
	weirgrpc "github.com/goweir/weir/adapters/grpc"
	"github.com/goweir/weir/store/localstore"
)

// callOnce makes one call to a running server.
func callOnce(ctx context.Context, w io.Writer, addr, key string) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	sayHello(ctx, w, c, key)
	return nil
}

// play makes the calls of -demo.
func play(ctx context.Context, w io.Writer, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	for range 3 {
		sayHello(ctx, w, c, "free-key")
	}
	if err := talk(ctx, w, c, "pro-key", 6); err != nil {
		return err
	}
	sayHello(ctx, w, c, "invented")
	fmt.Fprintln(w, "> grpc.health.v1.Health/Check")
	health, err := grpc_health_v1.NewHealthClient(c).Check(ctx, new(grpc_health_v1.HealthCheckRequest))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "< %s\n\n", health.GetStatus())
	return heed(ctx, w, addr)
}

func dial(addr string, opts ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.NewClient(addr, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
}

// sayHello makes a call and prints the answer.
func sayHello(ctx context.Context, w io.Writer, c *grpc.ClientConn, key string) {
	fmt.Fprintf(w, "> Greeter/Hello\n> x-api-key: %s\n", key)
	var header metadata.MD
	out := new(text)
	err := c.Invoke(metadata.AppendToOutgoingContext(ctx, "x-api-key", key), hello, wrapperspb.String("world"), out, grpc.Header(&header))
	show(w, header, err)
	if err == nil {
		fmt.Fprintln(w, out.GetValue())
	}
	fmt.Fprintln(w)
}

// talk opens a stream with a charge for each message, and prints the messages that pass.
func talk(ctx context.Context, w io.Writer, c *grpc.ClientConn, key string, messages int) error {
	fmt.Fprintf(w, "> Greeter/Chat, %d messages\n> x-api-key: %s\n", messages, key)
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(ctx, "x-api-key", key))
	defer cancel()
	s, err := c.NewStream(ctx, &greeterDesc.Streams[0], chat)
	if err != nil {
		return err
	}
	for i := 1; err == nil && i <= messages; i++ {
		out := new(text)
		// RecvMsg returns the error of a broken stream.
		_ = s.SendMsg(wrapperspb.String(fmt.Sprint("message ", i)))
		if err = s.RecvMsg(out); err == nil {
			fmt.Fprintln(w, out.GetValue())
		}
	}
	show(w, s.Trailer(), err)
	fmt.Fprintln(w)
	return nil
}

// heed makes a client wait for RetryInfo. Its slot lies past its deadline, so it does not
// make the next call.
func heed(ctx context.Context, w io.Writer, addr string) error {
	store, err := localstore.New(localstore.Config{}) // with several clients: redisstore
	if err != nil {
		return err
	}
	limiter, err := weir.New(weir.Config{Name: "status", Store: store, Limits: []weir.Limit{weir.Outbound(100, time.Second)}})
	if err != nil {
		return err
	}
	outbound, err := weirgrpc.NewClient(weirgrpc.ClientConfig{Limiter: limiter})
	if err != nil {
		return err
	}
	c, err := dial(addr, grpc.WithUnaryInterceptor(outbound.Unary))
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	fmt.Fprintln(w, "with a client that heeds RetryInfo:")
	sayHello(ctx, w, c, "free-key")
	err = c.Invoke(ctx, hello, wrapperspb.String("world"), new(text))
	var limited *weir.LimitedError
	if errors.As(err, &limited) {
		fmt.Fprintf(w, "the next call is not made: %s, and %s from now is past its deadline\n", limited.Reason, about(limited.RetryAfter))
	}
	return nil
}

// show prints the parts of an answer that help a client.
func show(w io.Writer, md metadata.MD, err error) {
	st := status.Convert(err)
	fmt.Fprintf(w, "< %s\n", st.Code())
	for _, name := range []string{"ratelimit-policy", "ratelimit", "retry-after"} {
		for _, value := range md.Get(name) {
			fmt.Fprintf(w, "< %s: %s\n", name, value)
		}
	}
	for _, detail := range st.Details() {
		switch detail := detail.(type) {
		case *errdetails.RetryInfo:
			fmt.Fprintf(w, "< RetryInfo: %s\n", about(detail.GetRetryDelay().AsDuration()))
		case *errdetails.QuotaFailure:
			for _, v := range detail.GetViolations() {
				fmt.Fprintf(w, "< QuotaFailure: %s\n", v.GetDescription())
			}
		}
	}
}

// about rounds up to seconds. An exact RetryInfo differs in each run.
func about(d time.Duration) time.Duration { return (d + time.Second - 1).Truncate(time.Second) }
