package plainstore

import (
	"context"

	"github.com/goweir/weir/internal/rediscall"
)

// countAll counts with INCRBY, also beyond the rate. SET opens a window together with its
// end. PEXPIRE NX would come after INCRBY, and needs Redis 7.
func (s *Store) countAll(ctx context.Context, windows []window) error {
	return exchange(ctx, s.client.TxPipelined, windows, func(w *window) []rediscall.Once {
		if w.cost == 0 {
			return w.view(ctx)
		}
		return w.add(ctx, w.cost)
	}, (*window).readAll)
}

func (w *window) readAll(replies []rediscall.Once) error {
	if err := w.read(replies); err != nil {
		return err
	}
	w.counted = w.cost > 0
	w.refuses = w.counted && w.used > w.rate
	w.reopen = w.counted && w.used == w.cost && replies[0].Err() != nil
	return nil
}

// add returns the commands that add units to a window. They open an ended window, with the
// same number of units.
func (w *window) add(ctx context.Context, units int64) []rediscall.Once {
	return []rediscall.Once{
		rediscall.New(ctx, "set", w.key, max(-units, 0), "px", w.period, "nx"),
		rediscall.New(ctx, "incrby", w.key, units),
		rediscall.New(ctx, "pttl", w.key),
	}
}
