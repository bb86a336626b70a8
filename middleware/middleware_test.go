package middleware_test

import (
	"net/http"
	"testing"

	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/middleware"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func mount(cfg middleware.Config, h http.Handler) (http.Handler, error) {
	limit, err := middleware.New(cfg)
	if err != nil {
		return nil, err
	}
	return limit(h), nil
}

func TestNetHTTP(t *testing.T) {
	t.Parallel()
	httpcases.Run(t, mount)
}
