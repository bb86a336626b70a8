package main

import (
	"os"
	"testing"

	"github.com/goweir/weir/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func Example() {
	os.Args = []string{"grpc", "-demo"}
	main()
	// Output:
	// > Greeter/Hello
	// > x-api-key: free-key
	// < OK
	// < ratelimit-policy: "free";q=2;w=60
	// < ratelimit: "free";r=1;t=30
	// hello, world
	//
	// > Greeter/Hello
	// > x-api-key: free-key
	// < OK
	// < ratelimit-policy: "free";q=2;w=60
	// < ratelimit: "free";r=0;t=30
	// hello, world
	//
	// > Greeter/Hello
	// > x-api-key: free-key
	// < ResourceExhausted
	// < ratelimit-policy: "free";q=2;w=60
	// < ratelimit: "free";r=0;t=30
	// < retry-after: 30
	// < QuotaFailure: The call is over the limit free.
	// < RetryInfo: 30s
	//
	// > Greeter/Chat, 6 messages
	// > x-api-key: pro-key
	// you said message 1
	// you said message 2
	// you said message 3
	// you said message 4
	// < ResourceExhausted
	// < ratelimit-policy: "pro";q=4;w=60, "pro-daily";q=10000;w=86400
	// < ratelimit: "pro";r=0;t=15, "pro-daily";r=9996;t=9
	// < retry-after: 15
	// < QuotaFailure: The call is over the limit pro.
	// < RetryInfo: 15s
	//
	// > Greeter/Hello
	// > x-api-key: invented
	// < Unauthenticated
	//
	// > grpc.health.v1.Health/Check
	// < SERVING
	//
	// with a client that heeds RetryInfo:
	// > Greeter/Hello
	// > x-api-key: free-key
	// < ResourceExhausted
	// < ratelimit-policy: "free";q=2;w=60
	// < ratelimit: "free";r=0;t=30
	// < retry-after: 30
	// < QuotaFailure: The call is over the limit free.
	// < RetryInfo: 30s
	//
	// the next call is not made: paused, and 30s from now is past its deadline
}
