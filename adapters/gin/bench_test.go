package weirgin_test

import (
	"net/http"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/goweir/weir/internal/httpcases"
)

func BenchmarkMiddleware(b *testing.B) {
	bare := gin.New()
	bare.Any("/*path", gin.WrapH(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	httpcases.Benchmark(b, mount, bare)
}
