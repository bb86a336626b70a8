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

// minShared is the minimum number of cases that are not about HTTP alone. With fewer, some
// are not run.
const minShared = 50

// TestSharedTable checks that the same Config gives the same answers over gRPC as over
// HTTP.
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

// httpStatuses are the HTTP statuses of the middleware's refusals.
var httpStatuses = map[codes.Code]int{
	codes.ResourceExhausted: 429, codes.Unauthenticated: 401, codes.PermissionDenied: 403, codes.InvalidArgument: 400,
	codes.Internal: 500, codes.Unavailable: 503, codes.Canceled: 503, codes.DeadlineExceeded: 503,
}

// checkRetryInfo checks that RetryInfo equals Retry-After, and that no refusal shows an
// inner error.
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
