package weirecho

import (
	"context"

	"github.com/labstack/echo/v5"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// RateLimiterStore is a RateLimiterStore of echo's middleware package that
// decides by a Limiter, for programs that have echo's RateLimiter mounted
// already:
//
//	store, err := weirecho.NewRateLimiterStore(limiter, middleware.FailOpen)
//	…
//	e.Use(echomiddleware.RateLimiter(store))
//
// Echo's middleware counts by IP address, as its RealIP finds it, unless its
// IdentifierExtractor says otherwise, IPv6 addresses whole, and of the headers
// refusals have Retry-After alone. New does more: prefer it where you can
// choose. It is safe for concurrent use.
type RateLimiterStore struct{ guard *middleware.KeyGuard }

// NewRateLimiterStore returns a RateLimiterStore, or a *weir.ConfigError that
// names the wrong argument. failure says what becomes of requests that the
// limiter's store can't decide on.
func NewRateLimiterStore(limiter *weir.Limiter, failure middleware.StoreFailure) (*RateLimiterStore, error) {
	guard, err := middleware.NewKeyGuard(limiter, failure)
	if err != nil {
		return nil, err
	}
	return &RateLimiterStore{guard}, nil
}

// Allow takes one unit of identifier, for what calls it without a request. A
// refusal is false without an error; an error, with which echo's middleware
// calls its DenyHandler, is one of the identifier, or under FailClosed a failure
// of the store. Echo's DenyHandler answers 429 for that too, unless it is told
// to answer 503 where an error matches weir.ErrStore.
func (s *RateLimiterStore) Allow(identifier string) (bool, error) {
	d, err := s.guard.Allow(context.Background(), identifier)
	return d.Allowed, err
}

// AllowContext is Allow for a request, whose context ends it, and sets
// Retry-After on a refusal that ends. Echo's middleware calls it.
func (s *RateLimiterStore) AllowContext(c *echo.Context, identifier string) (bool, error) {
	d, err := s.guard.Allow(c.Request().Context(), identifier)
	if err == nil && !d.Allowed {
		if after := middleware.RetryAfter(&d); after != "" {
			c.Response().Header().Set(echo.HeaderRetryAfter, after)
		}
	}
	return d.Allowed, err
}
