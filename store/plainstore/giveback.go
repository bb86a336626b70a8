package plainstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/goweir/weir/internal/rediscall"
	"github.com/redis/go-redis/v9"
)

const (
	// lateness is the longest time that units may be under way. A command sent that long
	// before a window's end can't reach the next window.
	lateness = 100 * time.Millisecond
	// giveBackTries bounds how often WATCH may fail.
	giveBackTries = 3
)

// giveBack takes a refused call's units out of the windows that counted them. It goes on in
// the background after the end of the context. The windows are its own then.
func (s *Store) giveBack(ctx context.Context, windows []window) error {
	if !slices.ContainsFunc(windows, func(w window) bool { return w.counted }) {
		return nil
	}
	return rediscall.GiveBack(ctx, func(ctx context.Context) error { return s.takeOut(ctx, windows) })
}

// takeOut takes the units out of all windows.
func (s *Store) takeOut(ctx context.Context, windows []window) error {
	var far []window
	var near []*window
	for i := range windows {
		switch w := &windows[i]; {
		case !w.counted:
		case w.broken() || time.Until(w.earliest()) > lateness:
			w.used -= w.cost
			far = append(far, *w)
		default:
			near = append(near, w)
		}
	}
	var err error
	if len(far) > 0 {
		err = exchange(ctx, s.client.TxPipelined, far, func(w *window) []rediscall.Once { return w.add(ctx, -w.cost) }, nil)
	}
	for _, w := range near {
		w.refuses = !s.takeOutNear(ctx, w) || w.refuses
	}
	return err
}

// earliest returns the earliest instant at which the window may end.
func (w *window) earliest() time.Time { return w.asked.Add(time.Duration(w.left) * time.Millisecond) }

// takeOutNear is takeOut for a window that ends soon, and reports success. WATCH protects the
// next window, which ends at least a period after this one.
func (s *Store) takeOutNear(ctx context.Context, w *window) (done bool) {
	for range giveBackTries {
		err := s.client.Watch(ctx, func(tx *redis.Tx) error {
			now := []window{*w}
			if err := look(ctx, tx.Pipelined, now); err != nil {
				return err
			}
			over := now[0].left < 0
			same := time.Now().Add(now[0].rest()).Sub(w.earliest()) < time.Duration(w.period)*time.Millisecond
			if done = over || same; over || !same {
				w.used, w.left = now[0].used, now[0].left
				return nil
			}
			err := exchange(ctx, tx.TxPipelined, now, func(w *window) []rediscall.Once { return w.add(ctx, -w.cost) }, nil)
			if err == nil {
				w.used -= w.cost
			}
			return err
		}, w.key)
		if !errors.Is(err, redis.TxFailedErr) {
			return err == nil && done
		}
	}
	return false
}
