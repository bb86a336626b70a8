package line

import (
	"context"
	"sync/atomic"
)

type backgroundKey struct{}

// anyBackground spares programs without background calls the search in a context, which
// may be a long chain.
var anyBackground atomic.Bool

// WithBackground returns a context of calls of the background class.
func WithBackground(ctx context.Context) context.Context {
	anyBackground.Store(true)
	return context.WithValue(ctx, backgroundKey{}, true)
}

// InBackground reports whether the calls of a context are of the background class.
func InBackground(ctx context.Context) bool {
	return anyBackground.Load() && ctx.Value(backgroundKey{}) != nil
}
