package middleware_test

import (
	"net/http"
	"testing"

	"github.com/goweir/weir/internal/httpcases"
)

func BenchmarkMiddleware(b *testing.B) {
	httpcases.Benchmark(b, mount, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
}
