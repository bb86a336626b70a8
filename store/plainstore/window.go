package plainstore

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/goweir/weir/internal/rediscall"
	"github.com/redis/go-redis/v9"
)

// window is the fixed window of one charge.
type window struct {
	key                string
	cost, rate, period int64 // period in ms
	// used is the number of counted units. left is the PTTL of the key in ms at the instant
	// asked.
	used, left int64
	asked      time.Time
	// counted: used includes the call. refuses: the call has to wait for the window's end.
	// reopen: the call is the first in a window that an earlier refused call opened.
	counted, refuses, reopen bool
}

// broken reports whether the window has no end, or an end later than its period.
func (w *window) broken() bool { return w.left == -1 || w.left > w.period }

// rest returns the time until the window is surely over. Redis counts whole milliseconds, and
// drops a key in the millisecond after its end.
func (w *window) rest() time.Duration {
	left := max(w.left, 0)
	if w.broken() {
		left = w.period
	}
	return time.Duration(left+1) * time.Millisecond
}

// pipeline sends commands in one round trip, as Pipelined or TxPipelined of a client.
type pipeline func(context.Context, func(redis.Pipeliner) error) ([]redis.Cmder, error)

// exchange sends the commands of all windows in one round trip, and reads the replies, unless
// read is nil. A nil reply is no error.
func exchange(ctx context.Context, send pipeline, windows []window, commands func(*window) []rediscall.Once, read func(*window, []rediscall.Once) error) error {
	cmds, now := make([][]rediscall.Once, len(windows)), time.Now()
	for i := range windows {
		windows[i].asked, cmds[i] = now, commands(&windows[i])
	}
	_, err := send(ctx, func(p redis.Pipeliner) error {
		for i := range cmds {
			for _, cmd := range cmds[i] {
				_ = p.Process(ctx, cmd)
			}
		}
		return nil
	})
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	for i := range windows {
		if read != nil {
			err = cmp.Or(err, read(&windows[i], cmds[i]))
		}
	}
	return err
}

// read reads the last two replies: to GET or INCRBY, and to PTTL. A missing window has no
// units.
func (w *window) read(replies []rediscall.Once) (err error) {
	n := len(replies)
	if w.used, err = replies[n-2].Int64(); err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	w.left, err = replies[n-1].Int64()
	return err
}

// view returns the commands that read a window.
func (w *window) view(ctx context.Context) []rediscall.Once {
	return []rediscall.Once{rediscall.New(ctx, "get", w.key), rediscall.New(ctx, "pttl", w.key)}
}
