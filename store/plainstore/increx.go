package plainstore

import (
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
	return exchange(ctx, s.client.Pipelined, windows, func(w *window) []rediscall.Once {
		view := w.view(ctx)
		if w.cost > 0 {
			view[0] = rediscall.New(ctx, "increx", w.key, "byint", w.cost, "ubound", w.rate, "px", w.period, "enx")
		}
		return view
	}, (*window).readBounded)
}

func (w *window) readBounded(replies []rediscall.Once) error {
	if w.cost == 0 {
		return w.read(replies)
	}
	reply, err := replies[0].Int64Slice() // the window's units and the added ones
	switch {
	case err != nil:
		return err
	case len(reply) != 2:
		return errReply
	}
	w.used, w.counted, w.refuses = reply[0], reply[1] == w.cost, reply[1] != w.cost
	w.reopen = w.counted && w.used == w.cost
	w.left, err = replies[1].Int64()
	return err
}
