package plainstore

import (
	"context"
	"strings"

	"github.com/goweir/weir/internal/rediscall"
	"github.com/redis/go-redis/v9"
)

// charge counts the call in all windows, or in none.
func (s *Store) charge(ctx context.Context, windows []window) error {
	err := s.count(ctx, windows)
	allowed := err == nil
	for i := range windows {
		allowed = allowed && !windows[i].refuses
	}
	if !allowed {
		if back := s.giveBack(ctx, windows); err == nil {
			err = back
		}
	}
	if err != nil {
		return err
	}
	return s.mend(ctx, windows, allowed)
}

// count counts the call in each window, with INCREX if the server has it. After an error
// some windows may have counted it.
func (s *Store) count(ctx context.Context, windows []window) error {
	if s.hasIncrEx(ctx) {
		err := s.countBounded(ctx, windows)
		if err == nil || !strings.Contains(err.Error(), "unknown command") && !redis.HasErrorPrefix(err, "NOPERM") {
			return err
		}
		s.incrEx.Store(absent)
	}
	return s.countAll(ctx, windows)
}

// mend gives windows their full period from now: windows with a wrong end, and windows that
// the call reopens. SET serves a window that ends just before.
func (s *Store) mend(ctx context.Context, windows []window, allowed bool) error {
	var short []window
	for i := range windows {
		w := &windows[i]
		if w.cost > 0 && (w.broken() || allowed && w.reopen && w.left < w.period) {
			w.left = w.period
			short = append(short, *w)
		}
	}
	if len(short) == 0 {
		return nil
	}
	return exchange(ctx, s.client.TxPipelined, short, func(w *window) []rediscall.Once {
		units := int64(0)
		if allowed {
			units = w.cost
		}
		return []rediscall.Once{rediscall.New(ctx, "set", w.key, units, "px", w.period, "nx"), rediscall.New(ctx, "pexpire", w.key, w.period)}
	}, nil)
}
