package weirecho

import (
	"context"
	"errors"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// storeTimeout bounds a decision for echo's own middleware, which passes no
// context on.
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
// IdentifierExtractor says otherwise, and sets no rate headers. New does more:
// prefer it where you can choose. It is safe for concurrent use.
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

// Allow takes one unit of identifier. A refusal is false without an error; an
// error, with which echo's middleware calls its DenyHandler, is one of the
// identifier, or under FailClosed a failure of the store. Echo's DenyHandler
// answers 429 for that too, unless it is told to answer 503 where an error
// matches weir.ErrStore.
func (s *RateLimiterStore) Allow(identifier string) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	d, err := s.limiter.Allow(ctx, identifier)
	if err != nil && s.failure == middleware.FailOpen && (errors.Is(err, weir.ErrStore) || ctx.Err() != nil) {
		return true, nil
	}
	return d.Allowed && err == nil, err
}
