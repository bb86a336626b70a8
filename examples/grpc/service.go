package main

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// These are the methods of the service. protoc would write all of this file from
//
//	service Greeter {
//	  rpc Hello(google.protobuf.StringValue) returns (google.protobuf.StringValue);
//	  rpc Chat(stream google.protobuf.StringValue) returns (stream google.protobuf.StringValue);
//	}
const (
	hello = "/weir.example.Greeter/Hello"
	chat  = "/weir.example.Greeter/Chat"
)

// text is the content of a message.
type text = wrapperspb.StringValue

// greeter is the service.
type greeter struct{}

func (greeter) hello(_ context.Context, in any) (any, error) {
	return wrapperspb.String("hello, " + in.(*text).GetValue()), nil
}

func (greeter) chat(ss grpc.ServerStream) error {
	for {
		in := new(text)
		if err := ss.RecvMsg(in); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := ss.SendMsg(wrapperspb.String("you said " + in.GetValue())); err != nil {
			return err
		}
	}
}

var greeterDesc = grpc.ServiceDesc{
	ServiceName: "weir.example.Greeter",
	HandlerType: (*any)(nil),
	Methods:     []grpc.MethodDesc{{MethodName: "Hello", Handler: helloHandler}},
	Streams: []grpc.StreamDesc{{
		StreamName: "Chat", ServerStreams: true, ClientStreams: true,
		Handler: func(srv any, ss grpc.ServerStream) error { return srv.(greeter).chat(ss) },
	}},
}

func helloHandler(srv any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
	in := new(text)
	if err := decode(in); err != nil {
		return nil, err
	}
	if intercept == nil {
		return srv.(greeter).hello(ctx, in)
	}
	return intercept(ctx, in, &grpc.UnaryServerInfo{Server: srv, FullMethod: hello}, srv.(greeter).hello)
}
