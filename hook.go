package weir

import (
	"context"

	"github.com/goweir/weir/store"
)

// Hook observes events, for metrics, traces and logs. A nil Hook costs nothing. Observe
// runs on the goroutine of the call, so it must be quick, and on many goroutines at
// once. Calls of the store that follow a call come on a goroutine in the background: a
// slot given back, a lease released or renewed, a response heeded.
type Hook interface {
	Observe(ctx context.Context, e Event)
}

// HookFunc is a function that is a Hook.
type HookFunc func(ctx context.Context, e Event)

// Observe calls f.
func (f HookFunc) Observe(ctx context.Context, e Event) { f(ctx, e) }

// ObserveFallback returns a function for fallback.Config.OnChange: hook observes each
// change as an [EventFallback] with the store's name as Scope.
func ObserveFallback(hook Hook, name string) func(store.Change) {
	return func(c store.Change) {
		hook.Observe(context.Background(), Event{Kind: EventFallback, Scope: name, Away: c.Away, Took: c.After, Err: c.Err})
	}
}
