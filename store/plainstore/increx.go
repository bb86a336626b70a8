package plainstore

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/goweir/weir/internal/rediscall"
	"github.com/redis/go-redis/v9"
)

// The states of Store.incrEx.
const (
	unknown int32 = iota
	present
	absent
)

var errReply = errors.New("plainstore: the reply to INCREX is not two numbers")

// hasIncrEx reports whether the server has INCREX. A server or proxy that refuses
// COMMAND INFO counts as one without.
func (s *Store) hasIncrEx(ctx context.Context) bool {
	if s.incrEx.Load() == unknown {
		cmd := rediscall.New(ctx, "command", "info", "increx")
		err := s.client.Process(ctx, cmd)
		list, _ := cmd.Slice()
		var reply redis.Error
		switch {
		case err == nil && len(list) == 1 && list[0] != nil:
			s.incrEx.Store(present)
		case err == nil, errors.As(err, &reply), errors.Is(err, io.EOF):
			s.incrEx.Store(absent)
		}
	}
	return s.incrEx.Load() == present
}

// countBounded counts with INCREX, which adds only units that fit under the rate.
func (s *Store) countBounded(ctx context.Context, windows []window) error {
	cmds, err := exchange(ctx, s.client.Pipelined, windows, func(w *window) []rediscall.Once {
		view := w.view(ctx)
		if w.cost > 0 {
			view[0] = rediscall.New(ctx, "increx", w.key, "byint", w.cost, "ubound", w.rate, "px", w.period, "enx")
		}
		return view
	})
	for i := range windows {
		w, units, left := &windows[i], cmds[i][0], cmds[i][1]
		if w.cost == 0 {
			err = cmp.Or(err, w.read(units, left))
			continue
		}
		reply, e := units.Int64Slice() // the window's units and the added ones
		if e == nil && len(reply) != 2 {
			e = errReply
		}
		if e == nil {
			w.used, w.counted, w.refuses = reply[0], reply[1] == w.cost, reply[1] != w.cost
			w.reopen = w.counted && w.used == w.cost
			w.left, e = left.Int64()
		}
		err = cmp.Or(err, e)
	}
	return err
}
