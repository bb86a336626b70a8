package plainstore

import (
	"cmp"
	"context"
	"errors"
	"io"

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
		cmd := newOnce(ctx, "command", "info", "increx")
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

// countBounded counts with INCREX, which adds only units that fit under the rate. The
// reply is the window's units and the added ones.
func (s *Store) countBounded(ctx context.Context, windows []window) error {
	cmds, err := exchange(ctx, s.client.Pipelined, windows, func(w *window) []once {
		if w.cost == 0 {
			return w.view(ctx)
		}
		increx := newOnce(ctx, "increx", w.key, "byint", w.cost, "ubound", w.rate, "px", w.period, "enx")
		return []once{increx, newOnce(ctx, "pttl", w.key)}
	})
	for i := range windows {
		err = cmp.Or(err, windows[i].readBounded(cmds[i][0], cmds[i][1]))
	}
	return err
}

// readBounded is read for a reply to INCREX.
func (w *window) readBounded(units, left once) (err error) {
	if w.cost == 0 {
		return w.read(units, left)
	}
	reply, err := units.Int64Slice()
	if err != nil {
		return err
	}
	if len(reply) != 2 {
		return errReply
	}
	w.used = reply[0]
	w.counted = reply[1] == w.cost
	w.refuses = !w.counted
	w.reopen = w.counted && w.used == w.cost
	w.left, err = left.Int64()
	return err
}
