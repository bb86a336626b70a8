// Command grpc is a gRPC API, limited per API key and plan, and a client of it.
//
//	cd examples/grpc
//	go run .
//	go run . -call free-key
//	go run . -demo
//
// It is a module of its own, as grpc-go is no dependency of weir.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/goweir/weir"
	weirgrpc "github.com/goweir/weir/adapters/grpc"
	"github.com/goweir/weir/examples/internal/sharedredis"
	"github.com/goweir/weir/middleware"
)

var (
	addr  = flag.String("addr", "127.0.0.1:8081", "where to listen, or whom to call")
	redis = flag.String("redis", "", "the `URL` of a Redis that replicas share; embedded in the program when empty")
	call  = flag.String("call", "", "make one call with this API `key` instead of serving")
	demo  = flag.Bool("demo", false, "make a few calls to itself, print them, and exit")
)

// plans has each customer's limits, in place of a database.
var plans = map[string][]weir.Limit{
	"free-key": {weir.PerMinute(2).WithName("free")},
	"pro-key":  {weir.PerMinute(4).WithName("pro"), weir.PerDay(10_000).WithName("pro-daily")},
}

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	if *call != "" {
		return callOnce(ctx, os.Stdout, *addr, *call)
	}
	shared, err := sharedredis.Open(ctx, *redis, "grpc")
	if err != nil {
		return err
	}
	defer shared.Close()
	at, name := *addr, "grpc-api"
	if *demo {
		at, name = "127.0.0.1:0", shared.Run
	}
	limiter, err := weir.New(weir.Config{Name: name, Store: shared.Store, Limits: plans["free-key"]})
	if err != nil {
		return err
	}
	server, err := newServer(limiter)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	if *demo {
		err = play(ctx, os.Stdout, l.Addr().String())
	} else {
		log.Printf("grpc on %s, limits in %s", l.Addr(), shared.What)
		<-ctx.Done()
	}
	server.GracefulStop()
	return errors.Join(err, <-served)
}

func newServer(limiter *weir.Limiter) (*grpc.Server, error) {
	limits, err := weirgrpc.NewServer(middleware.Config{
		Limiter: limiter,
		Key:     weir.KeyAPIKey("x-api-key", []byte(os.Getenv("API_KEY_SECRET"))),
		Limits:  func(r *http.Request) ([]weir.Limit, error) { return plans[r.Header.Get("x-api-key")], nil },
		Skip:    weirgrpc.Infrastructure,
	})
	if err != nil {
		return nil, err
	}
	// The authentication comes before the limits, or each invented key would have limits
	// of its own.
	server := grpc.NewServer(
		grpc.ChainUnaryInterceptor(authenticateUnary, limits.Unary),
		grpc.ChainStreamInterceptor(authenticateStream, limits.StreamMessages),
	)
	server.RegisterService(&greeterDesc, greeter{})
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	return server, nil
}

func authenticateUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if err := authenticate(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	return handler(ctx, req)
}

func authenticateStream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if err := authenticate(ss.Context(), info.FullMethod); err != nil {
		return err
	}
	return handler(srv, ss)
}

func authenticate(ctx context.Context, method string) error {
	if method == grpc_health_v1.Health_Check_FullMethodName {
		return nil
	}
	keys := metadata.ValueFromIncomingContext(ctx, "x-api-key")
	if len(keys) != 1 || plans[keys[0]] == nil {
		return status.Error(codes.Unauthenticated, "unknown API key")
	}
	return nil
}
