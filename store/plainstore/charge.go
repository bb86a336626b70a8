package plainstore

import (
	"context"
	"time"

	"github.com/goweir/weir/internal/rediscall"
)

// charge counts the call in all windows, or in none. INCRBY counts beyond the rate, too.
func (s *Store) charge(ctx context.Context, windows []window) error {
	err := exchange(ctx, s.client.TxPipelined, windows, func(w *window) []rediscall.Once {
		if w.cost == 0 {
			return w.view(ctx)
		}
		return w.add(ctx, w.cost)
	}, (*window).readCharge)
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

// readCharge reads the replies to a charge. After an error some windows may have counted it.
func (w *window) readCharge(replies []rediscall.Once) error {
	if err := w.read(replies); err != nil {
		return err
	}
	w.counted = w.cost > 0
	w.refuses = w.counted && w.used > w.rate
	w.reopen = w.counted && w.used == w.cost && replies[0].Err() != nil
	return nil
}

// add returns the commands that add units to a window. SET opens an ended window together
// with its end. PEXPIRE NX would come after INCRBY, and needs Redis 7.
func (w *window) add(ctx context.Context, units int64) []rediscall.Once {
	return []rediscall.Once{
		rediscall.New(ctx, "set", w.key, max(-units, 0), "px", w.period, "nx"),
		rediscall.New(ctx, "incrby", w.key, units),
		rediscall.New(ctx, "pttl", w.key),
	}
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

// lateness is the longest time that units may be under way. A command sent that long before
// a window's end can't reach the next window.
const lateness = 100 * time.Millisecond

// giveBack takes a refused call's units out of the windows that counted them. Units in a
// window that ends within lateness stay until its end. It goes on in the background after
// the end of the context.
func (s *Store) giveBack(ctx context.Context, windows []window) error {
	var far []window
	for i := range windows {
		switch w := &windows[i]; {
		case !w.counted:
		case w.broken() || time.Until(w.asked)+time.Duration(w.left)*time.Millisecond > lateness:
			w.used -= w.cost
			far = append(far, *w)
		default:
			w.refuses = true
		}
	}
	if len(far) == 0 {
		return nil
	}
	return rediscall.GiveBack(ctx, func(ctx context.Context) error {
		return exchange(ctx, s.client.TxPipelined, far, func(w *window) []rediscall.Once { return w.add(ctx, -w.cost) }, nil)
	})
}
