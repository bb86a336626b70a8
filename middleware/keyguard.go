package middleware

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/goweir/weir"
)

// keyTimeout bounds a decision of a KeyGuard, whose callers may pass no request's
// context on.
const keyTimeout = 5 * time.Second

// KeyGuard decides about keys that something else has found: what adapters to the
// limiters of frameworks are made of, which ask for a decision and answer
// themselves. It is safe for concurrent use.
type KeyGuard struct {
	limiter *weir.Limiter
	failure StoreFailure
}

// NewKeyGuard returns a KeyGuard, or a *[weir.ConfigError] that names the wrong
// argument. The limiter is one without InFlight. failure says what becomes of
// requests that the limiter's store can't decide on.
func NewKeyGuard(limiter *weir.Limiter, failure StoreFailure) (*KeyGuard, error) {
	if want, got := unfit(limiter); want != "" {
		return nil, &weir.ConfigError{Field: "limiter", Want: want, Got: got}
	}
	if failure > FailClosed {
		return nil, &weir.ConfigError{Field: "failure", Want: "FailOpen or FailClosed", Got: "another value"}
	}
	return &KeyGuard{limiter, failure}, nil
}

// Allow takes one unit of key, which may be of any length as those of Config.Key.
// A store that does not answer within 5 s has failed. Under FailOpen that is a
// Decision that is Allowed and nothing else, and under FailClosed an error that
// matches weir.ErrStore; the other errors are those of the key and the end of ctx.
func (g *KeyGuard) Allow(ctx context.Context, key string) (weir.Decision, error) {
	timed, cancel := context.WithTimeout(ctx, keyTimeout)
	defer cancel()
	d, err := g.limiter.Allow(timed, bounded(key))
	if err == nil {
		return d, nil
	}
	failed := errors.Is(err, weir.ErrStore)
	if !failed && timed.Err() != nil && ctx.Err() == nil {
		failed, err = true, &weir.StoreError{Op: "take", Err: err}
	}
	if failed && ctx.Err() == nil && g.failure == FailOpen {
		return weir.Decision{Allowed: true}, nil
	}
	return weir.Decision{}, err
}

// RetryAfter returns the value of a refusal's Retry-After header; "" when the
// refusal never ends.
func RetryAfter(d *weir.Decision) string {
	if d.RetryAfter == weir.Never {
		return ""
	}
	return strconv.FormatInt(max(1, seconds(d.RetryAfter)), 10)
}
