package redisstore

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/internal/watchers"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/script"
	"github.com/redis/go-redis/v9"
)

const (
	// watchPing is how long a subscription may be silent before a ping, and how long the
	// answer to that ping may take.
	watchPing = 2 * time.Second
	// watchRetry is the wait before a new subscription after a failure. watchForbidden is the
	// wait after a failure that does not pass by itself.
	watchRetry     = 500 * time.Millisecond
	watchForbidden = time.Minute
)

// watches is the store's one subscription to brakes. It exists while there are watchers.
type watches struct {
	live atomic.Pointer[time.Time] // no brake was missed since; nil: some may be

	mu     sync.Mutex
	all    watchers.Set
	cancel context.CancelFunc // nil: not subscribed
}

type watch struct {
	store *Store
	id    int
}

// WatchBrakes implements [store.Braker]. While there are watchers, one connection of the
// client is subscribed to "<prefix>brakes". It connects in the background, and again after
// every cut. With a [redis.Ring] it never connects, as each shard has its own channels.
func (s *Store) WatchBrakes(f func(scope, key string, c store.Clock)) store.Watch {
	b := &s.watches
	b.mu.Lock()
	defer b.mu.Unlock()
	w := &watch{s, b.all.Add(f)}
	if b.cancel == nil && !s.ring && !s.closed.Load() {
		ctx, cancel := context.WithCancel(context.Background())
		b.cancel = cancel
		go s.subscribe(ctx)
	}
	return w
}

// Covers implements [store.Watch].
func (w *watch) Covers(since time.Time) bool {
	live := w.store.watches.live.Load()
	return live != nil && live.Before(since)
}

// Stop implements [store.Watch].
func (w *watch) Stop() {
	b := &w.store.watches
	b.mu.Lock()
	defer b.mu.Unlock()
	if left := b.all.Remove(w.id); left == 0 {
		b.end()
	}
}

// end ends the subscription. The caller holds mu.
func (b *watches) end() {
	if b.cancel != nil {
		b.cancel()
		b.cancel = nil
		b.live.Store(nil)
	}
}

// set notes whether the subscription of ctx is live.
func (b *watches) set(ctx context.Context, there bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ctx.Err() != nil {
		return // A newer subscription may be there.
	}
	var since *time.Time
	if there {
		now := time.Now()
		since = &now
	}
	b.live.Store(since)
}

// subscribe keeps a subscription until ctx ends.
func (s *Store) subscribe(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.listen(ctx)
		s.watches.set(ctx, false)
		wait := watchRetry
		if err != nil && (redis.HasErrorPrefix(err, "NOPERM") || strings.Contains(err.Error(), "unknown command")) {
			wait = watchForbidden
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// listen subscribes once, and passes messages on until it fails.
func (s *Store) listen(ctx context.Context) error {
	sub := s.client.Subscribe(ctx)
	stop := context.AfterFunc(ctx, func() { _ = sub.Close() })
	defer func() {
		if stop() {
			_ = sub.Close()
		}
	}()
	if err := sub.Subscribe(ctx, s.channel()); err != nil {
		return err
	}
	for asked := false; ; {
		msg, err := sub.ReceiveTimeout(ctx, watchPing)
		var timeout net.Error
		switch {
		case errors.As(err, &timeout) && timeout.Timeout() && !asked && ctx.Err() == nil:
			if err := sub.Ping(ctx); err != nil {
				return err
			}
			asked = true
			continue
		case err != nil:
			return err
		}
		asked = false
		switch msg := msg.(type) {
		case *redis.Subscription:
			s.watches.set(ctx, true)
		case *redis.Message:
			if name, clock, ok := script.ParseBrake(msg.Payload); ok {
				if scope, key, ok := parseName(name); ok {
					s.watches.all.Tell(scope, key, clock)
				}
			}
		}
	}
}
