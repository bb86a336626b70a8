package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/goweir/weir/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// The README shows this with curl.
func Example() {
	api := newAPI()
	for range 3 {
		w := httptest.NewRecorder()
		api.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/hello", http.NoBody))
		fmt.Println(w.Code, w.Result().Header)
		fmt.Print(w.Body)
	}
	// Output:
	// 200 map[Content-Type:[text/plain; charset=utf-8] Ratelimit:["2-in-1m";r=1;t=30] Ratelimit-Policy:["2-in-1m";q=2;w=60]]
	// hello
	// 200 map[Content-Type:[text/plain; charset=utf-8] Ratelimit:["2-in-1m";r=0;t=30] Ratelimit-Policy:["2-in-1m";q=2;w=60]]
	// hello
	// 429 map[Cache-Control:[no-store] Content-Length:[193] Content-Type:[application/problem+json] Ratelimit:["2-in-1m";r=0;t=30] Ratelimit-Policy:["2-in-1m";q=2;w=60] Retry-After:[30]]
	// {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,"violated-policies":["2-in-1m"]}
}
