package weirecho

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/labstack/echo/v5"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// storeTimeout bounds a decision for echo's own middleware.
const storeTimeout = 5 * time.Second

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
type RateLimiterStore struct {
	limiter *weir.Limiter
	failure middleware.StoreFailure
}

// NewRateLimiterStore returns a RateLimiterStore, or a *weir.ConfigError that
// names the wrong argument. failure says what becomes of requests that the
// limiter's store can't decide on.
func NewRateLimiterStore(limiter *weir.Limiter, failure middleware.StoreFailure) (*RateLimiterStore, error) {
	switch {
	case limiter == nil:
		return nil, &weir.ConfigError{Field: "limiter", Want: "a limiter", Got: "nil"}
	case len(limiter.Limits()) == 0:
		return nil, &weir.ConfigError{Field: "limiter", Want: "a limiter made by weir.New", Got: "a zero one"}
	case failure > middleware.FailClosed:
		return nil, &weir.ConfigError{Field: "failure", Want: "FailOpen or FailClosed", Got: "another value"}
	}
	return &RateLimiterStore{limiter, failure}, nil
}

// Allow takes one unit of identifier, for what calls it without a request. A
// refusal is false without an error; an error, with which echo's middleware
// calls its DenyHandler, is one of the identifier, or under FailClosed a failure
// of the store. Echo's DenyHandler answers 429 for that too, unless it is told
// to answer 503 where an error matches weir.ErrStore.
func (s *RateLimiterStore) Allow(identifier string) (bool, error) {
	d, err := s.allow(context.Background(), identifier)
	return d.Allowed, err
}

// AllowContext is Allow for a request, whose context ends it, and sets
// Retry-After on a refusal that ends. Echo's middleware calls it.
func (s *RateLimiterStore) AllowContext(c *echo.Context, identifier string) (bool, error) {
	d, err := s.allow(c.Request().Context(), identifier)
	if err == nil && !d.Allowed && d.RetryAfter != weir.Never {
		seconds := max(1, (d.RetryAfter+time.Second-1)/time.Second)
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.FormatInt(int64(seconds), 10))
	}
	return d.Allowed, err
}

func (s *RateLimiterStore) allow(ctx context.Context, identifier string) (weir.Decision, error) {
	bounded, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	d, err := s.limiter.Allow(bounded, identifier)
	undecided := errors.Is(err, weir.ErrStore) || bounded.Err() != nil && ctx.Err() == nil
	if err != nil && undecided && s.failure == middleware.FailOpen {
		return weir.Decision{Allowed: true}, nil
	}
	return d, err
}
