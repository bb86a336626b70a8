package main

import (
	"os"
	"testing"

	"github.com/goweir/weir/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func Example() {
	os.Args = []string{"gin", "-demo"}
	main()
	// Output:
	// > GET /hello
	// > X-API-Key: free-key
	// < 200 OK
	// < RateLimit-Policy: "free";q=2;w=60
	// < RateLimit: "free";r=1;t=30
	// hello
	//
	// > GET /hello
	// > X-API-Key: free-key
	// < 200 OK
	// < RateLimit-Policy: "free";q=2;w=60
	// < RateLimit: "free";r=0;t=30
	// hello
	//
	// > GET /hello
	// > X-API-Key: free-key
	// < 429 Too Many Requests
	// < RateLimit-Policy: "free";q=2;w=60
	// < RateLimit: "free";r=0;t=30
	// < Retry-After: 30
	// {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,"violated-policies":["free"]}
	//
	// > GET /hello
	// > X-API-Key: pro-key
	// < 200 OK
	// < RateLimit-Policy: "pro";q=20;w=1, "pro-daily";q=10000;w=86400
	// < RateLimit: "pro";r=19;t=1, "pro-daily";r=9999;t=9
	// hello
	//
	// > GET /hello
	// > X-API-Key: invented
	// < 401 Unauthorized
	// unknown API key
}
