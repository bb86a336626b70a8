package weirgrpc_test

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	weirgrpc "github.com/goweir/weir/adapters/grpc"
	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/middleware"
)

// minShared is how many cases are about more than HTTP: fewer would mean that
// they are not run.
const minShared = 50

// TestSharedTable checks that the same Config answers the same over gRPC as over
// HTTP: who is served, and what is told.
func TestSharedTable(t *testing.T) {
	n := httpcases.RunCalls(t, func(t *testing.T, cfg middleware.Config) httpcases.Caller {
		limits, err := weirgrpc.NewServer(cfg)
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		cc := start(t, &talk{onCall: func(context.Context) { calls++ }}, []grpc.ServerOption{grpc.ChainUnaryInterceptor(limits.Unary)})
		return func(ctx context.Context, header http.Header, remote string) httpcases.CallAnswer {
			md := metadata.Pairs("x-remote", remote)
			for name, values := range header {
				md.Append(name, values...)
			}
			if header.Get("X-Status") >= "400" {
				md.Set("x-code", strconv.Itoa(int(codes.NotFound)))
			}
			before := calls
			var told metadata.MD
			err := cc.Invoke(metadata.NewOutgoingContext(ctx, md), say, wrapperspb.String(""), new(wrapperspb.StringValue), grpc.Header(&told))
			a := httpcases.CallAnswer{Served: calls > before, Status: httpStatuses[status.Code(err)], Header: http.Header{}}
			for name, values := range told {
				a.Header[http.CanonicalHeaderKey(name)] = values
			}
			if !a.Served {
				checkRetryInfo(t, err, a.Header)
			}
			return a
		}
	})
	if n < minShared {
		t.Errorf("%d cases", n)
	}
}

// httpStatuses has what the middleware refuses with over HTTP.
var httpStatuses = map[codes.Code]int{
	codes.ResourceExhausted: 429, codes.Unauthenticated: 401, codes.PermissionDenied: 403, codes.InvalidArgument: 400,
	codes.Internal: 500, codes.Unavailable: 503, codes.Canceled: 503, codes.DeadlineExceeded: 503,
}

// checkRetryInfo checks that RetryInfo says what Retry-After does, and that no
// refusal tells what went wrong inside.
func checkRetryInfo(t *testing.T, err error, header http.Header) {
	t.Helper()
	want := header.Get("Retry-After")
	got := ""
	if info := detail[*errdetails.RetryInfo](err); info != nil {
		got = strconv.FormatFloat(math.Ceil(info.GetRetryDelay().AsDuration().Seconds()), 'f', 0, 64)
	}
	if got != want {
		t.Errorf("RetryInfo %q, Retry-After %q", got, want)
	}
	if err == nil || strings.Contains(err.Error(), "6379") || status.Convert(err).Message() == "" {
		t.Errorf("error %v", err)
	}
}

// detail returns the status's detail of a type.
func detail[T any](err error) (none T) {
	for _, d := range status.Convert(err).Details() {
		if d, ok := d.(T); ok {
			return d
		}
	}
	return none
}
