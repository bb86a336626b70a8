package weirecho_test

import (
	"net/http"
	"testing"

	"github.com/labstack/echo/v5"

	"github.com/goweir/weir/internal/httpcases"
)

func BenchmarkMiddleware(b *testing.B) {
	bare := echo.New()
	bare.Any("/*", echo.WrapHandler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	httpcases.Benchmark(b, mount, bare)
}
