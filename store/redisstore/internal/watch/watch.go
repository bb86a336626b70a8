// Package watch has a store's subscription to brakes.
package watch

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/internal/deadline"
	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/internal/watchers"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/script"
	"github.com/redis/go-redis/v9"
)

const (
	// ping is how long a subscription may be silent before a ping, and how long the answer to
	// that ping may take.
	ping = 2 * time.Second
	// retry is the wait before a new subscription after a failure. forbidden is the wait after
	// a failure that does not pass by itself.
	retry     = 500 * time.Millisecond
	forbidden = time.Minute
)

// Watches is a store's one subscription to brakes. It exists while there are watchers. With
// a Ring, and without a client, it never does. All methods are safe for concurrent use.
type Watches struct {
	Channel string
	Client  redis.UniversalClient
	live    atomic.Pointer[time.Time] // no brake was missed since; nil: some may be

	mu     sync.Mutex
	all    watchers.Set
	closed bool
	cancel context.CancelFunc // nil: not subscribed
}

type watch struct {
	store.Watch // in all
	of          *Watches
}

// Add makes f hear of brakes.
func (w *Watches) Add(f watchers.Func) store.Watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := &watch{w.all.Add(f), w}
	if _, ring := w.Client.(*redis.Ring); w.cancel == nil && w.Client != nil && !ring && !w.closed {
		ctx, cancel := context.WithCancel(context.Background())
		w.cancel = cancel
		go w.subscribe(ctx)
	}
	return one
}

// Covers implements [store.Watch].
func (o *watch) Covers(since time.Time) bool {
	live := o.of.live.Load()
	return live != nil && live.Before(since)
}

// Stop implements [store.Watch].
func (o *watch) Stop() {
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	if o.Watch.Stop(); o.of.all.Empty() {
		o.of.end()
	}
}

// Close ends the subscription for good.
func (w *Watches) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.end()
}

// end ends the subscription. The caller holds mu.
func (w *Watches) end() {
	if w.cancel != nil {
		w.cancel()
		w.cancel = nil
		w.live.Store(nil)
	}
}

// set notes since when the subscription of ctx is live; nil: it is not.
func (w *Watches) set(ctx context.Context, live *time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() == nil { // Otherwise a newer subscription may be there.
		w.live.Store(live)
	}
}

// subscribe keeps a subscription until ctx ends.
func (w *Watches) subscribe(ctx context.Context) {
	for ctx.Err() == nil {
		err := w.listen(ctx)
		w.set(ctx, nil)
		wait := retry
		if err != nil && (redis.HasErrorPrefix(err, "NOPERM") || strings.Contains(err.Error(), "unknown command")) {
			wait = forbidden
		}
		_ = deadline.Sleep(ctx, wait)
	}
}

// listen subscribes once, and passes messages on until it fails.
func (w *Watches) listen(ctx context.Context) error {
	sub := w.Client.Subscribe(ctx)
	stop := context.AfterFunc(ctx, func() { _ = sub.Close() })
	defer func() {
		if stop() {
			_ = sub.Close()
		}
	}()
	if err := sub.Subscribe(ctx, w.Channel); err != nil {
		return err
	}
	for asked := false; ; {
		msg, err := sub.ReceiveTimeout(ctx, ping)
		var timeout net.Error
		idle := !asked && errors.As(err, &timeout) && timeout.Timeout() && ctx.Err() == nil
		if idle {
			err = sub.Ping(ctx)
		}
		if err != nil {
			return err
		}
		asked = idle
		switch msg := msg.(type) {
		case *redis.Subscription:
			w.set(ctx, new(time.Now()))
		case *redis.Message:
			if name, clock, ok := script.ParseBrake(msg.Payload); ok {
				if scope, key, ok := rediskey.ParseText(name); ok {
					w.all.Tell(scope, key, clock)
				}
			}
		}
	}
}
