package weirgrpc_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/goweir/weir"
	weirgrpc "github.com/goweir/weir/adapters/grpc"
	"github.com/goweir/weir/middleware"
)

// hear calls Listen and returns how many messages came.
func hear(ctx context.Context, cc *grpc.ClientConn, opts ...grpc.CallOption) (int, error) {
	cs, err := cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, listen, opts...)
	if err != nil {
		return 0, err
	}
	if err := errors.Join(cs.SendMsg(wrapperspb.String("go on")), cs.CloseSend()); err != nil {
		return 0, err
	}
	for n := 0; ; n++ {
		if err := cs.RecvMsg(new(wrapperspb.StringValue)); errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, err
		}
	}
}

// conversation sends messages over Chat one at a time. It returns the answers and the
// ended stream.
func conversation(ctx context.Context, t *testing.T, cc *grpc.ClientConn, messages string) (string, grpc.ClientStream, error) {
	t.Helper()
	cs, err := cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, chat)
	if err != nil {
		t.Fatal(err)
	}
	var back strings.Builder
	for _, m := range strings.Split(messages, "") {
		if err := cs.SendMsg(wrapperspb.String(m)); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		got := new(wrapperspb.StringValue)
		if err := cs.RecvMsg(got); err != nil {
			return back.String(), cs, err
		}
		back.WriteString(got.GetValue())
	}
	_ = cs.CloseSend()
	err = cs.RecvMsg(new(wrapperspb.StringValue))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return back.String(), cs, err
}

// TestStreamIsChargedOnce checks that a stream costs one call for any number of messages,
// and that a refused stream does not begin.
func TestStreamIsChargedOnce(t *testing.T) {
	t.Parallel()
	calls := 0
	s := mustServer(t, config(t, weir.PerHour(2)))
	cc := start(t, &talk{onCall: func(context.Context) { calls++ }}, []grpc.ServerOption{grpc.ChainStreamInterceptor(s.Stream)})
	ctx := as(t.Context(), "ann")
	got, cs, err := conversation(ctx, t, cc, "abcdef")
	md, _ := cs.Header()
	if told := md.Get("ratelimit"); got != "abcdef" || err != nil || len(told) != 1 || told[0] != `"2-in-1h";r=1;t=1800` {
		t.Errorf("first: %q, %v, %v", got, err, told)
	}
	if n, err := hear(ctx, cc); n != 3 || err != nil {
		t.Errorf("second: %d, %v", n, err)
	}
	if n, err := hear(ctx, cc, grpc.Header(&md)); n != 0 || status.Code(err) != codes.ResourceExhausted || detail[*errdetails.RetryInfo](err) == nil || len(md.Get("retry-after")) != 1 {
		t.Errorf("third: %d, %v, %v", n, err, md)
	}
	if calls != 2 {
		t.Errorf("%d calls", calls)
	}
}

// TestStreamMessages checks that StreamMessages charges messages.
func TestStreamMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var received []string
		var last error
		service := &talk{onEnd: func(messages []string, err error) { received, last = messages, err }}
		cfg := config(t, weir.PerMinute(3))
		s := mustServer(t, cfg)
		// A second mount on the way does not charge again.
		cc := start(t, service, []grpc.ServerOption{grpc.ChainStreamInterceptor(s.StreamMessages, mustServer(t, cfg).StreamMessages)})
		got, cs, err := conversation(as(t.Context(), "ann"), t, cc, "abcdef")
		if got != "abc" || status.Code(err) != codes.ResourceExhausted || strings.Contains(err.Error(), "hides") {
			t.Errorf("got %q, %v", got, err)
		}
		if retry := detail[*errdetails.RetryInfo](err).GetRetryDelay().AsDuration(); retry != 20*time.Second {
			t.Errorf("RetryInfo %v", retry)
		}
		if tr := cs.Trailer(); len(tr.Get("retry-after")) != 1 || tr.Get("retry-after")[0] != "20" || tr.Get("ratelimit")[0] != `"3-in-1m";r=0;t=20` {
			t.Errorf("trailer %v", tr)
		}
		synctest.Wait()
		if strings.Join(received, "") != "abc" || status.Code(last) != codes.ResourceExhausted {
			t.Errorf("the handler received %v, %v", received, last)
		}
		time.Sleep(20 * time.Second)
		if n, err := hear(as(t.Context(), "ann"), cc); n != 3 || err != nil {
			t.Errorf("a call with one message: %d, %v", n, err)
		}
		if n, err := hear(as(t.Context(), "ann"), cc); n != 0 || status.Code(err) != codes.ResourceExhausted {
			t.Errorf("one more: %d, %v", n, err)
		}
	})
}

// TestStreamMessagesCost checks that a cost may depend on the message, and that a refused
// stream gives no further message to a handler that asks again.
func TestStreamMessagesCost(t *testing.T) {
	t.Parallel()
	cfg := config(t, weir.PerHour(10))
	cfg.Cost = func(r *http.Request) (int64, error) { return int64(len(textOf(r))) + 1, nil }
	s := mustServer(t, cfg)
	ss := &fakeStream{ctx: metadata.NewIncomingContext(t.Context(), metadata.Pairs("x-user", "ann")), messages: []string{"free", "12345", "1", "123", ""}}
	var got []string
	err := s.StreamMessages(nil, ss, &grpc.StreamServerInfo{FullMethod: chat}, func(_ any, ss grpc.ServerStream) error {
		for range 6 {
			m := new(wrapperspb.StringValue)
			err := ss.RecvMsg(m)
			got = append(got, m.GetValue()+" "+status.Code(err).String())
		}
		return nil
	})
	// 1 for the opening, which covers the first message, 6, 2; then 4 is refused.
	want := "free OK, 12345 OK, 1 OK, 123 ResourceExhausted,  ResourceExhausted,  ResourceExhausted"
	if all := strings.Join(got, ", "); all != want || status.Code(err) != codes.ResourceExhausted {
		t.Errorf("got %s, %v", all, err)
	}
}

// TestRefusedMessageRefundsNothing checks that a stream whose first message was
// served is charged for its opening when a later one is refused.
func TestRefusedMessageRefundsNothing(t *testing.T) {
	t.Parallel()
	cfg := config(t, weir.PerHour(1))
	var got []middleware.Outcome
	cfg.Settle = func(r *http.Request, o middleware.Outcome) int64 {
		got = append(got, o)
		return middleware.OnlySuccesses(r, o)
	}
	s := mustServer(t, cfg)
	for i, want := range []int{1, 0} {
		ss := &fakeStream{ctx: metadata.NewIncomingContext(t.Context(), metadata.Pairs("x-user", "ann")), messages: []string{"a", "b"}}
		received := 0
		err := s.StreamMessages(nil, ss, &grpc.StreamServerInfo{FullMethod: tell}, func(_ any, ss grpc.ServerStream) error {
			for ; ; received++ {
				if err := ss.RecvMsg(new(wrapperspb.StringValue)); err != nil {
					return err
				}
			}
		})
		if received != want || status.Code(err) != codes.ResourceExhausted {
			t.Errorf("stream %d: received %d, want %d: %v", i, received, want, err)
		}
	}
	if len(got) != 1 || got[0].Status != http.StatusOK {
		t.Errorf("outcomes %+v", got)
	}
}

// textOf returns the text of the message that a call is about.
func textOf(r *http.Request) string {
	m, _ := weirgrpc.Message(r).(*wrapperspb.StringValue)
	return m.GetValue()
}

// fakeStream is a stream that is not connected to anything.
type fakeStream struct {
	grpc.ServerStream
	ctx      context.Context
	messages []string
}

func (s *fakeStream) Context() context.Context    { return s.ctx }
func (s *fakeStream) SetHeader(metadata.MD) error { return errors.New("sent already") }
func (s *fakeStream) SetTrailer(metadata.MD)      {}
func (s *fakeStream) RecvMsg(m any) error {
	if len(s.messages) == 0 {
		return io.EOF
	}
	m.(*wrapperspb.StringValue).Value = s.messages[0]
	s.messages = s.messages[1:]
	return nil
}

// TestDelayedMessages checks that messages wait with Config.Delay.
func TestDelayedMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := config(t, weir.PerSecond(1))
		cfg.Delay = middleware.Delay{Max: time.Minute, MaxWaiting: 10}
		cc := start(t, &talk{}, []grpc.ServerOption{grpc.ChainStreamInterceptor(mustServer(t, cfg).StreamMessages)})
		began := time.Now()
		got, _, err := conversation(as(t.Context(), "ann"), t, cc, "abcd")
		if took := time.Since(began); got != "abcd" || err != nil || took != 3*time.Second {
			t.Errorf("got %q, %v after %v", got, err, took)
		}
	})
}

// TestUnknownService checks that a method which the client made up is no route.
func TestUnknownService(t *testing.T) {
	t.Parallel()
	cfg := config(t, weir.PerHour(1))
	cfg.Key = weir.KeyFirst(weir.KeyRoute(), weir.KeyStatic("unknown"))
	s := mustServer(t, cfg)
	cc := start(t, &talk{}, []grpc.ServerOption{
		grpc.ChainStreamInterceptor(s.Stream),
		grpc.UnknownServiceHandler(func(_ any, ss grpc.ServerStream) error { return ss.SendMsg(served) }),
	})
	for i, want := range []codes.Code{codes.OK, codes.ResourceExhausted} {
		method := "/made.up/Method" + string(rune('A'+i))
		err := cc.Invoke(t.Context(), method, served, new(wrapperspb.StringValue))
		if status.Code(err) != want {
			t.Errorf("%s: %v", method, err)
		}
	}
	if n, err := hear(t.Context(), cc); n != 3 || err != nil {
		t.Errorf("a route: %d, %v", n, err)
	}
}
