package migration

import (
	"time"

	ratelimit "github.com/JGLTechnologies/gin-rate-limit"
	"github.com/gin-gonic/gin"

	"github.com/goweir/weir"
	weirgin "github.com/goweir/weir/adapters/gin"
	"github.com/goweir/weir/middleware"
)

func ginRateLimitBefore(store ratelimit.Store) gin.HandlerFunc { // of 5 per 10 s
	return ratelimit.RateLimiter(store, &ratelimit.Options{
		KeyFunc: func(c *gin.Context) string { return c.ClientIP() },
	})
}

func ginRateLimitAfter(store weir.Store) (gin.HandlerFunc, error) {
	limiter, err := weir.New(weir.Config{
		Name: "api", Store: store, Limits: []weir.Limit{weir.Per(5, 10*time.Second).By(weir.SlidingWindow)},
	})
	if err != nil {
		return nil, err
	}
	return weirgin.New(middleware.Config{
		Limiter: limiter, Key: weir.KeyRemoteIP(), Headers: middleware.HeadersXEpoch,
	})
}
