package weirgrpc_test

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/goweir/weir"
	weirgrpc "github.com/goweir/weir/adapters/grpc"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/localstore"
)

// A server that limits by the bearer token, which an interceptor further out has
// checked, and leaves health checks alone.
func ExampleNewServer() {
	store, err := localstore.New(localstore.Config{}) // with replicas: redisstore
	if err != nil {
		panic(err)
	}
	limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: []weir.Limit{weir.PerMinute(2)}})
	if err != nil {
		panic(err)
	}
	limits, err := weirgrpc.NewServer(middleware.Config{
		Limiter: limiter,
		Key:     weir.KeyBearer([]byte("a secret of your own")),
		Skip:    weirgrpc.Infrastructure,
	})
	if err != nil {
		panic(err)
	}
	server := grpc.NewServer(
		grpc.ChainUnaryInterceptor( /* authenticate, */ limits.Unary),
		grpc.ChainStreamInterceptor( /* authenticateStream, */ limits.StreamMessages),
	)
	server.Stop()
}

// A client that waits for its turn, and for the RetryInfo of servers.
func ExampleNewClient() {
	store, err := localstore.New(localstore.Config{}) // with several clients: redisstore
	if err != nil {
		panic(err)
	}
	limiter, err := weir.New(weir.Config{
		Name: "provider", Store: store, Limits: []weir.Limit{weir.Outbound(25, time.Second)}, MaxWait: 10 * time.Second,
	})
	if err != nil {
		panic(err)
	}
	calls, err := weirgrpc.NewClient(weirgrpc.ClientConfig{Limiter: limiter})
	if err != nil {
		panic(err)
	}
	cc, err := grpc.NewClient("dns:///api.example.com:443",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithChainUnaryInterceptor(calls.Unary),
		grpc.WithChainStreamInterceptor(calls.Stream),
	)
	if err != nil {
		panic(err)
	}
	_ = cc.Close()
}

// A client without weir reads the details of a refusal.
func ExampleServer_Unary() {
	call := refusedCall()
	for _, detail := range status.Convert(call).Details() {
		switch detail := detail.(type) {
		case *errdetails.RetryInfo:
			fmt.Println("retry after", detail.GetRetryDelay().AsDuration().Round(time.Second))
		case *errdetails.QuotaFailure:
			for _, v := range detail.GetViolations() {
				fmt.Println(v.GetSubject(), v.GetQuotaId())
			}
		}
	}
	// Output:
	// limiter:api 1-in-1m
	// retry after 1m0s
}

func refusedCall() error {
	store, _ := localstore.New(localstore.Config{})
	limiter, _ := weir.New(weir.Config{Name: "api", Store: store, Limits: []weir.Limit{weir.PerMinute(1)}})
	limits, _ := weirgrpc.NewServer(middleware.Config{Limiter: limiter, Key: weir.KeyStatic("all")})
	var err error
	for err == nil {
		_, err = limits.Unary(context.Background(), nil, &grpc.UnaryServerInfo{FullMethod: say},
			func(context.Context, any) (any, error) { return nil, nil })
	}
	return err
}
