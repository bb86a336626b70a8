package redisrate

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore"
)

// scope keeps the keys of this package apart from those of limiters.
const scope = "redis_rate"

// Limiter decides by limits that come with each call. It is safe for concurrent use,
// by any number of processes. The methods of a zero Limiter return an error.
type Limiter struct {
	store store.Store
	err   error
}

// Result is the outcome of one call.
type Result struct {
	// Limit is the limit of the call.
	Limit Limit
	// Allowed is the number of units that were taken; 0: refused.
	Allowed int
	// Remaining is the number of units that the next calls can take now.
	Remaining int
	// RetryAfter is -1 if units were taken. Otherwise it is the time until the same call
	// succeeds, unless others take units. store.Never: no wait helps.
	RetryAfter time.Duration
	// ResetAfter is the time until the key is as if never used.
	ResetAfter time.Duration
}

// NewLimiter returns a Limiter over Redis. It does no I/O. The client stays the
// caller's. With a nil client every call returns a *store.ConfigError.
func NewLimiter(client redis.UniversalClient) *Limiter {
	s, err := redisstore.New(redisstore.Config{Client: client})
	if err != nil {
		return &Limiter{err: err}
	}
	return Over(s)
}

// Over returns a Limiter over a store, such as a fallback.Store around a
// redisstore.Store. With nil every call returns a *store.ConfigError.
func Over(s store.Store) *Limiter { return &Limiter{store: s} }

// Allow is AllowN for one unit.
func (l Limiter) Allow(ctx context.Context, key string, limit Limit) (*Result, error) {
	return l.AllowN(ctx, key, limit, 1)
}

// AllowN takes n units, or none. With n = 0 it takes nothing and returns the state.
// A refusal is a Result; an error means that nothing was decided.
func (l Limiter) AllowN(ctx context.Context, key string, limit Limit, n int) (*Result, error) {
	d, err := l.take(ctx, key, limit, int64(n))
	if err != nil {
		return nil, err
	}
	return resultOf(limit, n, &d), nil
}

// AllowAtMost takes as many units as are free, up to n. Result.Allowed is their
// number. If fewer than n are free, it asks up to four times, as each grant is one
// decision of the store.
func (l Limiter) AllowAtMost(ctx context.Context, key string, limit Limit, n int) (*Result, error) {
	cost := min(n, max(limit.Burst, 1))
	for asked := 1; ; asked++ {
		d, err := l.take(ctx, key, limit, int64(cost))
		if err != nil {
			return nil, err
		}
		if d.Allowed || cost <= 1 {
			return resultOf(limit, cost, &d), nil
		}
		cost = max(1, min(cost-1, int(d.Remaining)))
		if asked == 3 {
			cost = 1 // Others were faster each time.
		}
	}
}

// Reset forgets the key: its next call finds a full burst.
func (l *Limiter) Reset(ctx context.Context, key string) error {
	if err := l.unusable(); err != nil {
		return err
	}
	r, ok := l.store.(store.Resetter)
	if !ok {
		return store.ErrUnsupported
	}
	return r.Reset(ctx, scope, key)
}

func (l *Limiter) take(ctx context.Context, key string, limit Limit, n int64) (store.Decision, error) {
	if err := l.unusable(); err != nil {
		return store.Decision{}, err
	}
	rule, err := limit.rule()
	if err != nil {
		return store.Decision{}, err
	}
	return l.store.Take(ctx, store.Request{Charges: []store.Charge{{Scope: scope, Key: key, Limit: rule, Cost: n}}})
}

func (l *Limiter) unusable() error {
	switch {
	case l != nil && l.err != nil:
		return l.err
	case l == nil || l.store == nil:
		return &store.ConfigError{Field: "redisrate.Limiter", Want: "one of NewLimiter or Over", Got: "one without a store"}
	}
	return nil
}

func resultOf(limit Limit, n int, d *store.Decision) *Result {
	r := &Result{Limit: limit, Remaining: int(d.Remaining), RetryAfter: -1, ResetAfter: d.ResetAfter}
	if d.Allowed {
		r.Allowed = n
	} else {
		r.RetryAfter = d.RetryAfter
	}
	return r
}
